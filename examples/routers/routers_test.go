// Package routers shows httplimit under routers that have ways of their own. It is a module of its own, so that they are no
// dependencies of limitgate.
package routers

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/httplimit"
	"github.com/limitgate/limitgate/memzone"
)

// limits lets a client of a router find nothing once an hour, and do one thing at once.
func limits(t *testing.T) *httplimit.Middleware {
	t.Helper()
	perHour, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 1, Window: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	atOnce, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := httplimit.NewWith(httplimit.Config{Limits: []httplimit.Limit{
		{Name: "misses", Limiter: perHour, Key: httplimit.ClientNetwork(), Counts: httplimit.StatusIn(404)},
		{Name: "at once", Limiter: atOnce, Key: httplimit.Everybody},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// status is what the handlers answer for a user: nobody knows user 0.
func status(user string) int {
	if user == "0" {
		return 404
	}
	return 204
}

// try asks a server for users until it refuses.
func try(t *testing.T, h http.Handler) {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	for i, want := range []struct {
		user   string
		status int
	}{{"7", 204}, {"7", 204}, {"0", 404}, {"7", 429}, {"0", 429}} {
		got, err := s.Client().Get(s.URL + "/users/" + want.user)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != want.status {
			t.Errorf("request %d: got %d, want %d", i, got.StatusCode, want.status)
		}
		if seen := got.Header.Get("X-User"); (seen == want.user) != (want.status != 429) {
			t.Errorf("request %d: the handler saw user %q", i, seen)
		}
	}
}

func TestServeMux(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("GET /users/{id}", limits(t).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-User", r.PathValue("id"))
		w.WriteHeader(status(r.PathValue("id")))
	})))
	try(t, mux)
}

func TestChi(t *testing.T) {
	r := chi.NewRouter()
	r.Use(limits(t).Wrap)
	r.Get("/users/{id}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-User", chi.URLParam(r, "id"))
		w.WriteHeader(status(chi.URLParam(r, "id")))
	})
	try(t, r)
}

// limitGin makes gin's middleware of m. Gin's handlers write to a writer of gin's own, so its status is told afterwards.
func limitGin(m *httplimit.Middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		passed := false
		m.Serve(c.Writer, c.Request, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			passed = true
			c.Next()
			w.WriteHeader(c.Writer.Status())
		}))
		if !passed {
			c.Abort()
		}
	}
}

func TestGin(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(limitGin(limits(t)))
	r.GET("/users/:id", func(c *gin.Context) {
		c.Header("X-User", c.Param("id"))
		c.Status(status(c.Param("id")))
	})
	try(t, r)
}

func TestEcho(t *testing.T) {
	e := echo.New()
	e.Use(echo.WrapMiddleware(limits(t).Wrap))
	e.GET("/users/:id", func(c echo.Context) error {
		c.Response().Header().Set("X-User", c.Param("id"))
		return c.NoContent(status(c.Param("id")))
	})
	try(t, e)
}
