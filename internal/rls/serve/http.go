package serve

import (
	"context"
	"io"
	"net/http"
	"strings"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/limitgate/limitgate/internal/rls/stats"
)

// Limiter is what answers behind /json.
type Limiter interface {
	ShouldRateLimit(context.Context, *pb.RateLimitRequest) (*pb.RateLimitResponse, error)
}

// maxBody bounds a request in JSON.
const maxBody = 1 << 20

// JSON answers a request that is the JSON form of Envoy's: 200, 429 over the limit, 400 for what is wrong, 500 where there is no answer
// because the store has none.
func JSON(l Limiter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var asked pb.RateLimitRequest
		if err == nil {
			err = protojson.Unmarshal(body, &asked)
		}
		if err != nil {
			wrong(w, err.Error())
			return
		}
		a, err := l.ShouldRateLimit(r.Context(), &asked)
		switch {
		case status.Code(err) == codes.Unavailable:
			plain(w, http.StatusInternalServerError)
			return
		case err != nil:
			wrong(w, status.Convert(err).Message())
			return
		case a == nil:
			plain(w, http.StatusInternalServerError)
			return
		}
		text, err := protojson.Marshal(a)
		if err != nil {
			plain(w, http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		for _, v := range a.GetResponseHeadersToAdd() {
			h.Set(v.GetKey(), v.GetValue())
		}
		switch a.GetOverallCode() {
		case pb.RateLimitResponse_UNKNOWN:
			w.WriteHeader(http.StatusInternalServerError)
		case pb.RateLimitResponse_OVER_LIMIT:
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = w.Write(text) // who asked may be gone
	})
}

// plain answers with a status and its words.
func plain(w http.ResponseWriter, code int) { http.Error(w, http.StatusText(code), code) }

// wrong answers that a request can't be answered, and why.
func wrong(w http.ResponseWriter, why string) {
	http.Error(w, http.StatusText(http.StatusBadRequest)+": "+why, http.StatusBadRequest)
}

// checked answers whether the service is well.
func checked(h *Health) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !h.Well() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "OK")
	})
}

// metrics answers with the counters in Prometheus' form.
func metrics(r *stats.Registry, more func(io.Writer) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		if r.WritePrometheus(w) == nil && more != nil {
			_ = more(w)
		}
	})
}

// texts answers with a text that is written anew each time.
func texts(write func(io.Writer) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = write(w) // who asked may be gone
	})
}

// index lists what there is.
func index(paths ...string) http.Handler {
	return texts(func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(paths, "\n")+"\n")
		return err
	})
}
