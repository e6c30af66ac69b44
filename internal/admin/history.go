package admin

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/limitgate/limitgate/internal/history"
)

// RollbackQuery is what POST /v1/rollback asks for.
type RollbackQuery struct {
	Number int           // of the history; 0: what was active before
	Watch  time.Duration // 0: not at all
	Factor float64       // how many times worse is worse
}

// Rollback is its answer.
type Rollback struct {
	Number  int  `json:"number"` // that it has in the history now; 0: it runs, but could not be kept
	From    int  `json:"from"`   // the number it went back to
	Watched bool `json:"watched"`
}

// Watch is the answer to /v1/rollback: the last watch. Its State is "" where there was none.
type Watch struct {
	State    string         `json:"state"` // watching, good, worse, stuck, replaced
	Number   int            `json:"number,omitempty"`
	Until    time.Time      `json:"until,omitzero"`
	Before   history.Counts `json:"before"` // requests of up to a minute before
	Since    history.Counts `json:"since"`
	Why      string         `json:"why,omitempty"`      // it was worse
	Returned int            `json:"returned,omitempty"` // the number of what runs again
}

// Rollbacks is the part of a Gateway that goes back.
type Rollbacks interface {
	Rollback(context.Context, RollbackQuery) (Rollback, error)
	Watch() Watch
}

const (
	maxWatch  = time.Hour
	maxFactor = 1000
)

// rollbacks adds its routes.
func rollbacks(m *http.ServeMux, g Rollbacks) {
	m.HandleFunc("GET /v1/rollback", func(w http.ResponseWriter, _ *http.Request) { answer(w, g.Watch(), nil) })
	m.HandleFunc("POST /v1/rollback", func(w http.ResponseWriter, r *http.Request) {
		var done Rollback
		q, err := readRollback(r.URL.Query().Get)
		if err == nil {
			done, err = g.Rollback(r.Context(), q)
		}
		answer(w, done, err)
	})
}

func readRollback(get func(string) string) (q RollbackQuery, err error) {
	if text := get("number"); text != "" {
		if q.Number, err = strconv.Atoi(text); err != nil || q.Number < 1 {
			return q, fmt.Errorf("number=%s: it is a whole number from 1", text)
		}
	}
	if text := get("watch"); text != "" {
		if q.Watch, err = time.ParseDuration(text); err != nil || q.Watch < 0 || q.Watch > maxWatch {
			return q, fmt.Errorf("watch=%s: it is a time such as 30s, up to 1h", text)
		}
	}
	q.Factor = 2
	if text := get("factor"); text != "" {
		if q.Factor, err = strconv.ParseFloat(text, 64); err != nil || !(q.Factor >= 1 && q.Factor <= maxFactor) {
			return q, fmt.Errorf("factor=%s: it is a number from 1 to 1000", text)
		}
	}
	return q, nil
}
