package limit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/logformat"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// refusal is limit_error_body: what a refusal says. The zero value leaves it to the page of the status.
type refusal struct {
	json bool
	kind []byte // of a file
	text []byte // of a file; nil: none
}

var typeProblem = []byte("application/problem+json")

// readRefusal reads limit_error_body, and the file that it names.
func readRefusal(env *phase.Env, s *conf.Scope) refusal {
	d, found := s.Get("limit_error_body")
	if !found {
		return refusal{}
	}
	b, good := conf.ReadErrorBody(d, env.Errors)
	if !good || b.File == "" {
		return refusal{json: b.JSON}
	}
	name := b.File
	if !filepath.IsAbs(name) {
		name = filepath.Join(env.Dir, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		env.Errors.Add(d.Pos, fmt.Sprintf("reading the body of refusals: %s", err), "the file is read with the configuration; its name is relative to the folder of the configuration")
		return refusal{}
	}
	return refusal{kind: []byte(b.Type), text: text}
}

// add gives a request that failed its body. after is the seconds to retry after, 0 where there are none.
func (f *refusal) add(r *request.Request, zone string, after int64) {
	switch {
	case f.json:
		r.Response.ContentType = typeProblem
		r.Response.Page = r.Claim(appendProblem(r.Scratch(), r.Response.Status, zone, after))
	case f.text != nil:
		r.Response.ContentType, r.Response.Page = f.kind, f.text
	}
}

// appendProblem writes a refusal as RFC 9457 has it.
func appendProblem(b []byte, status int, zone string, after int64) []byte {
	title := h1.Reason(status)
	if title == "" {
		title = "Refused"
	}
	b = append(append(b, `{"type":"about:blank","title":"`...), title...)
	b = strconv.AppendInt(append(b, `","status":`...), int64(status), 10)
	b = logformat.AppendJSON(append(b, `,"limit":"`...), zone)
	b = append(b, '"')
	if after > 0 {
		b = strconv.AppendInt(append(b, `,"retry_after":`...), after, 10)
	}
	return append(b, "}\n"...)
}
