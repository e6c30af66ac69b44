package status

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/logformat"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// metrics answers with everything that is counted.
type metrics struct{ watch phase.Watch }

var typeMetrics = []byte("text/plain; version=0.0.4; charset=utf-8")

// Serve answers.
func (m *metrics) Serve(r *request.Request) phase.Next {
	if !asks(r) {
		return phase.Fail
	}
	var b bytes.Buffer
	if err := m.watch.Metrics(&b); err != nil {
		r.Logf(errorlog.Error, "%s", err)
		r.Fail(500)
		return phase.Fail
	}
	return answer(r, 200, typeMetrics, b.Bytes())
}

// health tells whether the process lives, or whether it should get requests.
type health struct {
	watch phase.Watch
	lives bool
}

var (
	typeJSON = []byte("application/json")
	wellText = []byte(`{"status":"ok"}` + "\n")
)

// Serve answers. That it does at all says that the process lives.
func (h *health) Serve(r *request.Request) phase.Next {
	if !asks(r) {
		return phase.Fail
	}
	why := ""
	if !h.lives {
		why = h.watch.Unready()
	}
	if why == "" {
		return answer(r, 200, typeJSON, wellText)
	}
	b := logformat.AppendJSON(append(r.Scratch(), `{"status":"unready","why":"`...), why)
	return answer(r, 503, typeJSON, r.Claim(append(b, "\"}\n"...)))
}
