package accesslog

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what is read to the .want files")

// readAll reads logs to their end and tells every record.
func readAll(t testing.TB, names []string, o Options) (string, []*Source) {
	t.Helper()
	r, err := Open(names, o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for {
		batch, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch.Records {
			b.WriteString(tell(&batch.Records[i]))
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), r.Sources()
}

// tell is everything that a record says.
func tell(r *Record) string {
	var b strings.Builder
	side := "begin"
	if r.AtEnd {
		side = "end"
	}
	fmt.Fprintf(&b, "%s %s ±%s", time.Unix(0, r.Stamp).UTC().Format(time.RFC3339Nano), side, r.Grain)
	if r.Duration != Unknown {
		fmt.Fprintf(&b, " took %s ±%s", time.Duration(r.Duration), r.DurationGrain)
	}
	if r.Upstream != Unknown {
		fmt.Fprintf(&b, " upstream %s", time.Duration(r.Upstream))
	}
	b.WriteString("\n")
	if r.Addr.IsValid() {
		fmt.Fprintf(&b, "  client %s %d\n", r.Addr, r.Port)
	}
	for _, f := range []struct {
		name string
		v    []byte
	}{{"request", r.Request}, {"method", r.Method}, {"uri", r.URI}, {"protocol", r.Protocol}, {"host", r.Host}, {"user", r.User},
		{"referer", r.Referer}, {"agent", r.Agent}} {
		if f.v != nil {
			fmt.Fprintf(&b, "  %s %q\n", f.name, f.v)
		}
	}
	fmt.Fprintf(&b, "  status %d", r.Status)
	for _, n := range []struct {
		name string
		n    int64
	}{{"body", r.Body}, {"sent", r.Sent}, {"length", r.Length}} {
		if n.n != Unknown {
			fmt.Fprintf(&b, " %s %d", n.name, n.n)
		}
	}
	b.WriteString("\n")
	for _, f := range r.Fields {
		fmt.Fprintf(&b, "  $%s %q\n", f.Name, f.Value)
	}
	return b.String()
}

// TestFormats reads a log of every named format: recognised, and by its name. What is read stands beside it.
func TestFormats(t *testing.T) {
	for _, name := range Formats() {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join("testdata", name+".log")
			got, sources := readAll(t, []string{log}, Options{})
			s := sources[0]
			if s.Format != name || !s.Recognised {
				t.Errorf("recognised as %q, %v, want %q", s.Format, s.Recognised, name)
			}
			if s.Malformed != 0 {
				t.Errorf("malformed lines: %v", s.Examples)
			}
			got = fmt.Sprintf("%s: %d lines, open %v\n%s\n\n%s", s.Format, s.Lines, s.Open, strings.Join(s.Variables, " "), got)
			golden(t, name, got)
			f, err := ParseFormat(name, 0)
			if err != nil {
				t.Fatal(err)
			}
			given, sources := readAll(t, []string{log}, Options{Format: f})
			if !strings.HasSuffix(got, "\n\n"+given) || sources[0].Recognised {
				t.Errorf("by its name it is read as\n%s", given)
			}
		})
	}
}

// TestRealNginx reads what nginx 1.22.1 wrote for odd requests: quotes, bytes that are no text, a user with the text that
// follows it, the first bytes of TLS, nothing, HTTP/0.9, an absolute URI, no Host.
func TestRealNginx(t *testing.T) {
	const all = `$remote_addr:$remote_port - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" ` +
		`"$http_user_agent" rt=$request_time urt=$upstream_response_time us=$upstream_status msec=$msec len=$request_length ` +
		`sent=$bytes_sent key="$http_x_api_key" lrs=$limit_req_status bin="$binary_remote_addr" $uri?$args`
	for log, format := range map[string]string{"nginx-all": all, "nginx-json": "json"} {
		f, err := ParseFormat(format, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, sources := readAll(t, []string{filepath.Join("testdata", log+".log")}, Options{Format: f})
		if s := sources[0]; s.Malformed != 0 || s.Lines != 12 {
			t.Errorf("%s: %d lines, malformed: %v", log, s.Lines, s.Examples)
		}
		golden(t, log, got)
	}
}

// golden compares what was read with what stands beside the log.
func golden(t *testing.T, log, got string) {
	t.Helper()
	want := filepath.Join("testdata", log+".want")
	if *update {
		if err := os.WriteFile(want, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(text) {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
}
