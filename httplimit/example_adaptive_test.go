package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/httplimit"
)

func ExampleNewWith_adaptive() {
	limit, _ := adaptive.New(adaptive.Config{Initial: 1, Max: 100})
	m, _ := httplimit.NewWith(httplimit.Config{Adaptive: limit})
	var handler http.Handler
	handler = m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" { // another request, while this one is at work
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("GET", "/second", nil))
			fmt.Println("second:", w.Code, "Retry-After:", w.Header().Get("Retry-After"))
		}
	}))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/first", nil))
	fmt.Println("first:", w.Code)
	// Output:
	// second: 503 Retry-After: 1
	// first: 200
}
