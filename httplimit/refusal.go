package httplimit

import (
	"encoding/json"
	"net/http"

	"github.com/limitgate/limitgate/internal/limitfields"
)

// problem is a refusal as RFC 9457 has it.
type problem struct {
	Type       string `json:"type"`
	Title      string `json:"title"`
	Status     int    `json:"status"`
	Limit      string `json:"limit,omitempty"`
	RetryAfter int64  `json:"retry_after,omitempty"` // seconds
}

// refuse answers a request that is refused. What went wrong with a zone is nothing for clients.
func refuse(w http.ResponseWriter, _ *http.Request, f Refusal) {
	p := problem{Type: "about:blank", Title: http.StatusText(f.Status), Status: f.Status, Limit: f.Limit}
	if p.Title == "" {
		p.Title = "Refused"
	}
	if f.RetryAfter > 0 {
		p.RetryAfter = limitfields.Seconds(f.RetryAfter)
	}
	text, err := json.Marshal(p)
	if err != nil {
		text = nil // a struct of texts and numbers can be written
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("Content-Length")
	h.Del("Content-Encoding")
	w.WriteHeader(f.Status)
	// Nobody is there to tell of a client who no longer reads.
	_, _ = w.Write(append(text, '\n'))
}
