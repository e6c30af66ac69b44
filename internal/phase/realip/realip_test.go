package realip

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/proxyproto"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// vector is a case of testdata/realip.json.
type vector struct {
	ID     string `json:"id"`
	Check  string `json:"check"`
	Params struct {
		From      []string `json:"set_real_ip_from"`
		Header    string   `json:"real_ip_header"`
		Recursive string   `json:"real_ip_recursive"`
		Brackets  *bool    `json:"bare_brackets"`
	} `json:"params"`
	Events []struct {
		Peer    string      `json:"peer"`
		Port    uint16      `json:"peer_port"`
		Headers [][2]string `json:"headers"`
		Proxy   string      `json:"proxy_protocol"`
	} `json:"events"`
	Expect []struct {
		Verdict    string `json:"verdict"`
		RemoteAddr string `json:"remote_addr"`
		RealIP     string `json:"realip_remote_addr"`
		Changed    bool   `json:"changed"`
		RemotePort string `json:"remote_port"`
	} `json:"expect"`
}

func TestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/realip.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []vector `json:"cases"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, v := range file.Cases {
		// The older of two answers to one input, and a case without events, are information.
		if v.Check == "info" || v.Params.Brackets != nil && !*v.Params.Brackets {
			continue
		}
		ran++
		t.Run(v.ID, func(t *testing.T) { replay(t, &v) })
	}
	if ran != 86 {
		t.Errorf("got %d cases, want 86", ran)
	}
}

func replay(t *testing.T, v *vector) {
	var text strings.Builder
	for _, from := range v.Params.From {
		fmt.Fprintf(&text, "set_real_ip_from %s;\n", from)
	}
	fmt.Fprintf(&text, "real_ip_header %s;\nreal_ip_recursive %s;\n", v.Params.Header, v.Params.Recursive)
	h, errs := compile(t, text.String())
	for _, e := range errs.List() {
		t.Fatal(e)
	}
	e, want := v.Events[0], v.Expect[0]
	r := &request.Request{Conn: &request.Conn{}}
	r.Reset()
	if e.Peer != "unix:" {
		r.Conn.PeerAddr = netip.AddrPortFrom(netip.MustParseAddr(e.Peer), e.Port)
	}
	if e.Proxy != "" {
		p, _, err := proxyproto.Parse([]byte(e.Proxy))
		if want.Verdict == "error" {
			if err == nil {
				t.Errorf("PROXY line %q was read, want an error", e.Proxy)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Conn.ProxySource, r.Conn.ProxyDestination = p.Src(), p.Dst()
	}
	for _, f := range e.Headers {
		name, value := []byte(f[0]), []byte(strings.Trim(f[1], " ")) // an edge cuts blanks off both ends
		r.Headers = append(r.Headers, request.Header{Name: name, Value: value, ID: header.Lookup(name)})
	}
	r.ClientAddr = r.Conn.PeerAddr
	if h != nil {
		if next := h.Serve(r); next != phase.Continue {
			t.Errorf("Serve: got %v, want Continue", next)
		}
	}
	tp, err := vars.NewTable(vars.Facts{}).Compile("$remote_addr $realip_remote_addr $remote_port")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(tp.Append(r, nil)), want.RemoteAddr+" "+want.RealIP+" "+want.RemotePort; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.Resolved != want.Changed {
		t.Errorf("changed: got %v, want %v", r.Resolved, want.Changed)
	}
}

// compile loads directives into a server and compiles it.
func compile(t *testing.T, directives string) (phase.Handler, *conf.Errors) {
	t.Helper()
	http, errs := load(t, "server {\n"+directives+"\n}")
	return Compile(&phase.Env{Errors: errs}, http.Children[0]), errs
}

func load(t *testing.T, http string) (*conf.Scope, *conf.Errors) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(path, []byte("events {}\nhttp {\n"+http+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, errs := conf.Load(conf.Options{Path: path})
	return c.HTTP(), errs
}

func TestCompile(t *testing.T) {
	http, errs := load(t, `set_real_ip_from 127.0.0.1; set_real_ip_from unix:; set_real_ip_from localhost;
server { location /same { location /same/in { real_ip_recursive on; } } location /other { real_ip_header X-Client; } }`)
	env := &phase.Env{Errors: errs}
	server := http.Children[0]
	h, ok := Compile(env, server).(*handler)
	if !ok || h.field != "x-real-ip" || !h.trusted.Contains(netip.Addr{}) || !h.trusted.Contains(netip.MustParseAddr("127.0.0.1")) {
		t.Fatalf("server: got %+v", h)
	}
	if got := Compile(env, server.Children[0]); got != nil {
		t.Errorf("a location like its server: got %v, want nil", got)
	}
	if h, ok := Compile(env, server.Children[0].Children[0]).(*handler); !ok || !h.recursive {
		t.Errorf("a nested location: got %+v", h)
	}
	if h, ok := Compile(env, server.Children[1]).(*handler); !ok || h.field != "x-client" {
		t.Errorf("a location with its own header: got %+v", h)
	}
	for _, e := range errs.List() {
		t.Errorf("unexpected fault: %v", e)
	}
}

func TestUnknownHost(t *testing.T) {
	_, errs := compile(t, "set_real_ip_from no-such-host.invalid;")
	list := errs.List()
	if len(list) != 1 || list[0].Msg != `host not found in set_real_ip_from "no-such-host.invalid"` {
		t.Errorf("got %v", list)
	}
}

func TestServeLooksOnceAndAllocatesNothing(t *testing.T) {
	h, _ := compile(t, "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;")
	r := &request.Request{Conn: &request.Conn{PeerAddr: netip.MustParseAddrPort("127.0.0.1:1")}}
	r.Headers = []request.Header{{Name: []byte("X-Forwarded-For"), Value: []byte("192.0.2.1:77"), ID: header.XForwardedFor}}
	if got := testing.AllocsPerRun(100, func() { r.Resolved = false; h.Serve(r) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
	r.Headers[0].Value = []byte("192.0.2.2")
	h.Serve(r)
	if got := r.ClientAddr.String(); got != "192.0.2.1:77" {
		t.Errorf("asked again: got %s, want the first answer", got)
	}
}
