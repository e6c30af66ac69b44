package limit

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// What is written by hand is what protobuf's own code reads.
func TestAppendStatus(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{1, time.Millisecond, time.Second, 90 * time.Minute, 1500 * time.Millisecond, 1<<63 - 1} {
		for _, says := range []string{saysTooMany, saysAtOnce} {
			var s rpc.Status
			if err := proto.Unmarshal(appendStatus(nil, says, wait), &s); err != nil {
				t.Fatalf("%v: %v", wait, err)
			}
			m, err := s.GetDetails()[0].UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			got := m.(*errdetails.RetryInfo).GetRetryDelay()
			if s.GetCode() != 8 || s.GetMessage() != says || got.AsDuration() != wait || got.CheckValid() != nil {
				t.Errorf("%v: got %v", wait, &s)
			}
		}
	}
}

// Which requests are calls, and what they are told by each kind of limit.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	const conf = `limit_req_zone $host zone=r:1m rate=2r/m; limit_conn_zone $host zone=c:1m; limit_error_body json;
		server { location /req { limit_req zone=r; } location /conn { limit_conn c 1; } }`
	for _, c := range []struct {
		at, kind string
		asked    bool
		call     string
	}{
		{"/req", "application/grpc", false, "grpc-status: 8, grpc-message: too many calls, grpc-status-details-bin: , grpc-retry-pushback-ms: "},
		{"/req", "Application/gRPC+proto", false, "grpc-status: 8, grpc-message: too many calls, grpc-status-details-bin: , grpc-retry-pushback-ms: "},
		{"/conn", "application/grpc-web+proto", false, "grpc-status: 8, grpc-message: too many calls at once"},
		{"/req", "application/json", false, ""},
		{"/req", "application/grp", false, ""},
		{"/req", "application/grpc", true, ""},
	} {
		http, env := phasetest.Config(t, conf)
		env.Vars.Define(http, env.Errors)
		env.Zones = zones{}
		h := Compile(env, phasetest.Location(t, http, c.at))
		phasetest.Good(t, env)
		ask := func() (*request.Request, phase.Next) {
			r := phasetest.Request(t, "POST "+c.at+" HTTP/1.1\r\nHost: h\r\nContent-Type: "+c.kind+"\r\n\r\n", &phasetest.Client{}, nil)
			r.Slots = make([]request.Slot, env.Vars.Slots())
			if c.asked {
				r.Asked = []byte("POST")
			}
			return r, h.Serve(r)
		}
		if _, next := ask(); next != phase.Continue {
			t.Fatalf("%s: the first: %v", c.at, next)
		}
		r, next := ask()
		var list []string
		for _, f := range r.Response.Call {
			v := string(f.Value)
			if n := string(f.Name); strings.HasSuffix(n, "-bin") || strings.HasSuffix(n, "-ms") {
				v = ""
			}
			list = append(list, string(f.Name)+": "+v)
		}
		if got := strings.Join(list, ", "); next != phase.Fail || got != c.call || r.Response.Status != 503 {
			t.Errorf("%s, %s: next %v, status %d, call %q, want %q", c.at, c.kind, next, r.Response.Status, got, c.call)
		}
		if (r.Response.Page == nil) != (c.call != "") {
			t.Errorf("%s, %s: page %q", c.at, c.kind, r.Response.Page)
		}
	}
}
