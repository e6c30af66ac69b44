package runconf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
)

// What the flags of a limit stand for is a configuration that is good, whatever they are, and limits what they say.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit Limit
		want  []string
	}{
		{"a rate", Limit{Rate: "10r/s"}, []string{`limit_req_zone "$binary_remote_addr" zone=rate:10m rate=10r/s;`, "location / { limit_req zone=rate; }"}},
		{"a burst", Limit{Rate: "30r/m", Burst: 20}, []string{"limit_req zone=rate burst=20; }"}},
		{"at once", Limit{Rate: "10r/s", Burst: 20, NoDelay: true}, []string{"limit_req zone=rate burst=20 nodelay; }"}},
		{"in part", Limit{Rate: "10r/s", Burst: 20, Delay: 5}, []string{"limit_req zone=rate burst=20 delay=5; }"}},
		{"places", Limit{Conn: 7}, []string{`limit_conn_zone "$binary_remote_addr" zone=conn:10m;`, "limit_conn conn 7; }"}},
		{"a window", Limit{Count: 9, Window: "1h"}, []string{"zone=count:10m limit=9 window=1h;", "limit_count zone=count; }"}},
		{"all", Limit{Rate: "1r/s", Conn: 1, Count: 1}, []string{"{ limit_req zone=rate; limit_conn conn 1; limit_count zone=count; }"}},
		{"a path", Limit{Rate: "1r/s", Match: "/login"}, []string{"location /login {", "location / { }"}},
		{"an expression", Limit{Rate: "1r/s", Match: `~ ^/api/v[0-9]+\.[0-9]{1,2}"?/`}, []string{`location ~ "^/api/v[0-9]+\\.[0-9]{1,2}\"?/" {`}},
		{"in any case", Limit{Rate: "1r/s", Match: `~* \.php$`}, []string{`location ~* "\\.php$" {`}},
		{"a key", Limit{Rate: "1r/s", Key: "$http_x_key $uri"}, []string{`limit_req_zone "$http_x_key $uri" zone`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, d := c.limit, LimitDefaults()
			if l.Match == "" {
				l.Match = d.Match
			}
			if l.Key == "" {
				l.Key = d.Key
			}
			if l.Window == "" {
				l.Window = d.Window
			}
			if err := l.Validate(); err != nil {
				t.Fatal(err)
			}
			text := l.Text()
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s is missing in\n%s", want, text)
				}
			}
			file := filepath.Join(t.TempDir(), "limit.conf")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, errs := conf.Load(conf.Options{Path: file})
			for _, e := range errs.List() {
				t.Error(e)
			}
		})
	}
}

func TestLimitFaults(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		want  string
	}{
		{Limit{}, "--rate, --conn or --count"}, {Limit{Rate: "fast"}, "--rate: "}, {Limit{Conn: 1, Burst: 2}, "belong to a --rate"}, {Limit{Rate: "1r/s", Burst: -1}, "must not be negative"},
		{Limit{Rate: "1r/s", Burst: 1, NoDelay: true, Delay: 1}, "exclude each other"}, {Limit{Rate: "1r/s", NoDelay: true}, "say what happens to a --burst"},
		{Limit{Rate: "1r/s", Key: "a;b"}, "--key"}, {Limit{Rate: "1r/s", Match: "login"}, "--match"}, {Limit{Rate: "1r/s", Match: "~"}, "--match"},
		{Limit{Rate: "1r/s", Match: "~ ("}, "--match"}, {Limit{Rate: "1r/s", Match: "/a{"}, "--match"}, {Limit{Count: 1, Window: "1 m"}, "--window"},
	} {
		l, d := c.limit, LimitDefaults()
		if l.Key == "" {
			l.Key = d.Key
		}
		if l.Match == "" {
			l.Match = d.Match
		}
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.limit, err, c.want)
		}
	}
}
