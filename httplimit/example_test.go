package httplimit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/httplimit"
	"github.com/limitgate/limitgate/memzone"
)

// noon is when examples happen.
func noon() limitgate.Time { return limitgate.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) }

func newLimiter(a limitgate.Algorithm) *limitgate.Limiter {
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		panic(err)
	}
	return l
}

var handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

// get sends a request through h and tells how it went.
func get(h http.Handler, path string, head ...string) *http.Response {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// Three lines: a limiter, whom it counts, and the handler.
func ExampleNew() {
	login := newLimiter(limitgate.Req{Rate: limitgate.PerMinute(5), Burst: 1, NoDelay: true})
	h := httplimit.New(login, httplimit.ClientNetwork()).Wrap(handler)
	for range 3 {
		got := get(h, "/login")
		fmt.Printf("%d %q\n", got.StatusCode, got.Header.Get("Retry-After"))
	}
	// Output:
	// 200 ""
	// 200 ""
	// 429 "12"
}

// A login that counts wrong passwords only, at most two at a time for each account, and tells clients where they stand.
func ExampleNewWith() {
	m, err := httplimit.NewWith(httplimit.Config{
		Limits: []httplimit.Limit{{
			Name:    "login",
			Limiter: newLimiter(limitgate.Count{Limit: 2, Window: time.Hour}),
			Key:     httplimit.Header("X-Account").Or(httplimit.ClientNetwork()),
			Counts:  httplimit.StatusIn(http.StatusUnauthorized),
		}},
		Headers: httplimit.DraftHeaders,
		Now:     noon,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	h := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("password") != "open sesame" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	for _, password := range []string{"x", "open+sesame", "y", "z"} {
		got := get(h, "/?password="+password, "X-Account", "ali")
		fmt.Println(got.StatusCode, got.Header.Get("RateLimit"))
	}
	// Output:
	// 401 "login";r=1
	// 200 "login";r=0
	// 401 "login";r=0
	// 429 "login";r=0;t=3601
}

// What is wrong with a configuration is said before anything runs.
func ExampleConfig_Validate() {
	fmt.Println(httplimit.Config{}.Validate())
	fmt.Println(httplimit.Config{Limits: []httplimit.Limit{{Name: "api", Key: httplimit.Everybody}}}.Validate())
	// Output:
	// 0 limits of a handler: between 1 and 64
	// limit 0 "api" of a handler: needs a Limiter
}

func ExampleMiddleware_Wrap() {
	atOnce := httplimit.New(newLimiter(limitgate.Conn{Limit: 1}), httplimit.Everybody)
	inner := atOnce.Wrap(handler)
	outer := atOnce.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		fmt.Println("a second one at once:", get(inner, "/").StatusCode)
	}))
	get(outer, "/")
	fmt.Println("afterwards:", get(inner, "/").StatusCode)
	// Output:
	// a second one at once: 429
	// afterwards: 200
}

// For a router whose middleware has another shape.
func ExampleMiddleware_Serve() {
	m := httplimit.New(newLimiter(limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 1}), httplimit.Everybody)
	middleware := func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) { m.Serve(w, r, next) }
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { middleware(w, r, handler) })
	fmt.Println(get(h, "/").StatusCode, get(h, "/").StatusCode)
	// Output: 200 429
}

// key tells what a key makes of a request.
func key(k httplimit.Key, r *http.Request) string { return fmt.Sprintf("%q", k(r, nil)) }

// Whom a chain of proxies speaks for, as far as it is trusted.
func ExampleClientNetwork() {
	k := httplimit.ClientNetwork(netip.MustParsePrefix("10.0.0.0/8"))
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "10.1.2.3:40000"
	r.Header.Set("X-Forwarded-For", "1.2.3.4, 203.0.113.9, 10.9.9.9") // the client wrote the first one
	fmt.Println(key(k, r))
	r.RemoteAddr = "[2001:db8:1:2:3:4:5:6]:40000" // nobody to be believed
	fmt.Println(key(k, r))
	// Output:
	// "203.0.113.9/32"
	// "2001:db8:1:2::/64"
}

func ExampleClient_Key() {
	k := httplimit.Client{Trusted: []netip.Prefix{netip.MustParsePrefix("173.245.48.0/20")}, Header: "CF-Connecting-IP", IPv4: 24}.Key()
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "173.245.48.1:443"
	r.Header.Set("CF-Connecting-IP", "203.0.113.9")
	fmt.Println(key(k, r))
	// Output: "203.0.113.0/24"
}

func ExampleHeader() {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Api-Key", "k-17")
	fmt.Println(key(httplimit.Header("X-API-Key"), r), key(httplimit.Header("X-Tenant"), r))
	// Output: "k-17" ""
}

// A request without an API key is counted by its address.
func ExampleKey_Or() {
	k := httplimit.Header("X-Api-Key").Or(httplimit.ClientNetwork())
	fmt.Println(key(k, httptest.NewRequest("GET", "/", nil)))
	// Output: "192.0.2.1/32"
}

// A budget for each tenant and method: parts that differ never make the same key.
func ExampleEach() {
	k := httplimit.Each(httplimit.Method, httplimit.Header("X-Tenant"))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Tenant", "acme")
	fmt.Println(key(k, r))
	// Output: "\x00\x00\x00\x03GET\x00\x00\x00\x04acme"
}

func ExamplePathValue() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(key(httplimit.PathValue("id"), r))
	})
	get(mux, "/users/7")
	// Output: "7"
}

func ExamplePattern() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(_ http.ResponseWriter, r *http.Request) { fmt.Println(key(httplimit.Pattern, r)) })
	get(mux, "/users/7")
	// Output: "GET /users/{id}"
}

func ExampleMethod() {
	fmt.Println(key(httplimit.Method, httptest.NewRequest("PUT", "/", nil)))
	// Output: "PUT"
}

func ExampleEverybody() {
	fmt.Println(key(httplimit.Everybody, httptest.NewRequest("GET", "/", nil)))
	// Output: "*"
}

func ExampleFailed() {
	fmt.Println(httplimit.Failed(httplimit.Outcome{Status: 200}), httplimit.Failed(httplimit.Outcome{Status: 502}))
	// Output: false true
}

func ExampleStatusIn() {
	counts := httplimit.StatusIn(401, 403)
	fmt.Println(counts(httplimit.Outcome{Status: 401}), counts(httplimit.Outcome{Status: 500}))
	// Output: true false
}
