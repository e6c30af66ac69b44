package replay

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/virtual"
)

// FuzzLog: no log ends in a panic, and every record of it is counted once.
func FuzzLog(f *testing.F) {
	f.Add([]byte(`192.0.2.1 - u [29/Nov/2026:10:00:00 +0000] "GET /a%20b?x HTTP/1.1" 200 5 "-" "curl" "h" "10.0.0.1" "192.0.2.9" 1.5 "REJECTED"` + "\n"))
	f.Add([]byte(`- - - [29/Nov/2026:10:00:00 +0000] "\x16\x03" 400 5 "-" "-" "-" "-" "-" - "-"` + "\n"))
	f.Add([]byte(`unix: - - [01/Jan/1970:00:00:00 +0000] "GET // HTTP/2.0" 499 0 "" "" "[::1]:80" "::1" "x" 99999999999 "DELAYED"` + "\n"))
	f.Add([]byte(`x - - [31/Dec/9999:23:59:59 -1200] "OPTIONS * HTTP/1.0" 200 5 "-" "-" "a..b" "," "-" 0.000 "-"` + "\n"))
	dir := f.TempDir()
	conf := filepath.Join(dir, "nginx.conf")
	text := `events { } http { limit_req_zone $binary_remote_addr$http_x_key$uri zone=a:1m rate=1r/s; limit_conn_zone $binary_remote_addr zone=c:1m; set_real_ip_from 10.0.0.0/8;
		server { limit_req zone=a burst=2; limit_conn c 2; location / { } location ~ ^/a { rewrite ^/a(.*) /b$1; } error_page 503 /c; } server { listen 81; server_name ~^(.+)$; return 301 /$1; } }`
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	format, err := accesslog.ParseFormat(`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_host" "$http_x_real_ip" "$realip_remote_addr" $request_time "$limit_req_status"`, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := accesslog.Open([]string{name}, accesslog.Options{Format: format})
		if err != nil {
			return
		}
		defer log.Close()
		other := virtual.Options{File: conf, Arithmetic: "nginx"}
		r, err := Open(Options{Config: virtual.Options{File: conf}, Against: &other, Host: "h"})
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Run(context.Background(), log, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range out.Assumed {
			if n := a.Passed + a.Delayed + a.Rejected; n != out.Log.Records {
				t.Errorf("%d of %d records are counted", n, out.Log.Records)
			}
		}
	})
}
