// Package routers shows httplimit under routers that have ways of their own. It is a module of its own, so that they are no
// dependencies of limitgate.
package routers

import (
	"bufio"
	"io"
	"net"
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

// limitGin makes gin's middleware of m. Gin's handlers write to a writer of gin's own, which has to write through the one of m: that
// sees what is written, and holds the place of a connection that is taken over.
func limitGin(m *httplimit.Middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		passed, own := false, c.Writer
		m.Serve(own, c.Request, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			passed = true
			through := &ginWriter{own, w}
			c.Writer = through
			c.Next()
			through.begin()
		}))
		if c.Writer = own; !passed {
			c.Abort()
		}
	}
}

// ginWriter is gin's writer, which keeps the status until something is written, on top of the one that sees it.
type ginWriter struct {
	gin.ResponseWriter
	w http.ResponseWriter
}

// begin tells the status, now that it is known.
func (g *ginWriter) begin() {
	if !g.Written() {
		g.w.WriteHeader(g.Status())
	}
}

func (g *ginWriter) Write(b []byte) (int, error) { g.begin(); return g.w.Write(b) }

func (g *ginWriter) WriteString(s string) (int, error) { g.begin(); return io.WriteString(g.w, s) }

func (g *ginWriter) Flush() { g.begin(); g.w.(http.Flusher).Flush() }

func (g *ginWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return g.w.(http.Hijacker).Hijack()
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

// follows makes limits that see how a response ends.
func follows(t *testing.T, seen func(o httplimit.Outcome)) *httplimit.Middleware {
	t.Helper()
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 100, Window: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	m, err := httplimit.NewWith(httplimit.Config{Limits: []httplimit.Limit{{
		Limiter: l, Key: httplimit.Everybody, Counts: func(o httplimit.Outcome) bool { seen(o); return true },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Inside of gin and around it the outcome is what the handler wrote, and gin's streams, which need a http.CloseNotifier, go on.
func TestGinOutcomesAndStreams(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	for _, around := range []bool{false, true} {
		var last httplimit.Outcome
		m := follows(t, func(o httplimit.Outcome) { last = o })
		r := gin.New()
		var h http.Handler = r
		if around {
			h = m.Wrap(r)
		} else {
			r.Use(limitGin(m))
		}
		r.GET("/text", func(c *gin.Context) { c.Status(200); c.String(404, "%s", "nobody") })
		r.GET("/none", func(c *gin.Context) { c.Status(403) })
		r.GET("/stream", func(c *gin.Context) {
			n := 0
			c.Stream(func(w io.Writer) bool { n++; _, _ = io.WriteString(w, "x"); return n < 3 })
		})
		s := httptest.NewServer(h)
		for _, c := range []struct {
			path   string
			status int
			bytes  int64
		}{{"/text", 404, 6}, {"/none", 403, 0}, {"/stream", 200, 3}} {
			got, err := s.Client().Get(s.URL + c.path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(got.Body)
			got.Body.Close()
			if got.StatusCode != c.status || int64(len(body)) != c.bytes || err != nil {
				t.Errorf("around %v, %s: got %d with %q, %v, want %d with %d bytes", around, c.path, got.StatusCode, body, err, c.status, c.bytes)
			}
			if last.Status != c.status || last.Bytes != c.bytes || last.Panic {
				t.Errorf("around %v, %s: got outcome %d with %d bytes, want %d with %d", around, c.path, last.Status, last.Bytes, c.status, c.bytes)
			}
		}
		s.Close()
	}
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
