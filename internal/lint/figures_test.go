package lint

import (
	"encoding/json"
	"os"
	"testing"
)

// Of a limit whose zone is declared elsewhere only what stands beside it is known.
func TestFiguresWithoutAZone(t *testing.T) {
	t.Chdir(t.TempDir())
	for limit, want := range map[string]string{
		"limit_req zone=z burst=5;":   `{"limit":"limit_req","zone":"z","at_once":1,"waiting":5}`,
		"limit_conn z 7;":             `{"limit":"limit_conn","zone":"z","at_once":7}`,
		"limit_count zone=z;":         `{"limit":"limit_count","zone":"z"}`,
		"limit_token zone=z cost=$c;": `{"limit":"limit_token","zone":"z","varies":true}`,
	} {
		if err := os.WriteFile("part.conf", []byte("server {\n"+limit+"\n}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := Check(Options{Path: "part.conf"})
		if len(r.Limits) != 1 {
			t.Fatalf("%s: got %+v", limit, r)
		}
		if got, err := json.Marshal(r.Limits[0].Figures); err != nil || string(got) != want {
			t.Errorf("%s: got %s, want %s (%v)", limit, got, want, err)
		}
	}
}

func TestFigures(t *testing.T) {
	for _, c := range []struct{ name, arithmetic, zone, limit, want string }{
		{"nginx's minute", "nginx", "limit_req_zone $binary_remote_addr zone=z:10m rate=1r/m;", "limit_req zone=z burst=1;",
			`"written":"1r/m","per_second":0.016,"at_once":1,"waiting":1,"worst_1s":2,"worst_60s":2,"longest_delay_ms":62500`},
		{"no delay", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=10r/s;", "limit_req zone=z burst=20 nodelay;",
			`"written":"10r/s","per_second":10,"at_once":21,"worst_1s":31,"worst_60s":621,"longest_delay_ms":0`},
		{"beyond nginx's clock", "nginx", "limit_req_zone $binary_remote_addr zone=z:10m rate=5000r/s;", "limit_req zone=z;",
			`"written":"5000r/s","per_second":1000,"at_once":1,"worst_1s":1001,"worst_60s":60001,"longest_delay_ms":0`},
		{"some wait", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=10r/s;", "limit_req zone=z burst=20 delay=10;",
			`"written":"10r/s","per_second":10,"at_once":11,"waiting":10,"worst_1s":31,"worst_60s":621,"longest_delay_ms":1000`},
		{"conn", "", "limit_conn_zone $binary_remote_addr zone=z:10m;", "limit_conn z 7;", `"at_once":7`},
		{"sliding", "", "limit_count_zone $binary_remote_addr zone=z:10m limit=100 window=10s;", "limit_count zone=z;",
			`"per_second":10,"at_once":100,"worst_1s":200,"worst_60s":700`},
		{"fixed, costly", "", "limit_count_zone $binary_remote_addr zone=z:10m limit=100 window=1h algorithm=fixed;", "limit_count zone=z cost=30;",
			`"per_second":0.0008333333333333334,"at_once":3,"worst_1s":6,"worst_60s":6`},
		{"log", "", "limit_count_zone $binary_remote_addr zone=z:10m limit=5 window=10s algorithm=log;", "limit_count zone=z;",
			`"per_second":0.5,"at_once":5,"worst_1s":5,"worst_60s":30`},
		{"token", "", "limit_token_zone $binary_remote_addr zone=z:10m rate=2r/s capacity=50;", "limit_token zone=z cost=4;",
			`"written":"2r/s","per_second":0.5,"at_once":12,"worst_1s":13,"worst_60s":42`},
		{"cost varies", "", "limit_token_zone $binary_remote_addr zone=z:10m rate=2r/s capacity=50;", "limit_token zone=z cost=$arg_n;",
			`"written":"2r/s","varies":true`},
		{"rate varies", "", "limit_req_zone $binary_remote_addr zone=z:10m rate=$arg_rate;", "limit_req zone=z;", `"varies":true`},
		{"window varies", "", "limit_count_zone $binary_remote_addr zone=z:10m limit=5 window=$arg_w;", "limit_count zone=z;", `"varies":true`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := check(t, c.arithmetic, "events {}\nhttp {\n"+c.zone+"\nserver {\n"+c.limit+"\n}\n}\n")
			if len(r.Limits) != 1 {
				t.Fatalf("got %+v", r)
			}
			got, err := json.Marshal(r.Limits[0].Figures)
			want := `{"limit":"` + r.Limits[0].Kind + `","zone":"z","key":"$binary_remote_addr",` + c.want + `}`
			if err != nil || string(got) != want {
				t.Errorf("got %s, want %s (%v)", got, want, err)
			}
		})
	}
}
