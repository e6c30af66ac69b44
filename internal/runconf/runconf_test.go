package runconf

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

func TestText(t *testing.T) {
	plain := Defaults()
	plain.To = "http://127.0.0.1:9000"
	full := Flags{
		Listen: "[::1]:8081", To: "http://[::1]/api", Rate: "30r/m", Burst: 0, DryRun: true, NoLog: true,
		Allow: []string{"10.1.2.3/8", "192.0.2.1", "2001:db8::/32", "192.0.2.1/32"},
	}
	for name, f := range map[string]Flags{"plain": plain, "full": full} {
		if err := f.Validate(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		golden := filepath.Join("testdata", name+".conf")
		got := f.Text()
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		if _, errs := conf.Load(conf.Options{Path: golden}); errs.Failed() {
			t.Errorf("%s: the file is not good: %v", name, errs.List())
		}
	}
}

func TestValidateNamesTheFlag(t *testing.T) {
	good := Defaults()
	good.To = "http://localhost:9000/app"
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		change func(*Flags)
		want   string
	}{
		{func(f *Flags) { f.Listen = "8080" }, `--listen "8080": write ADDRESS:PORT`},
		{func(f *Flags) { f.Listen = "a b:80" }, `--listen "a b:80": `},
		{func(f *Flags) { f.Listen = "127.0.0.1:0" }, `--listen "127.0.0.1:0": `},
		{func(f *Flags) { f.To = "" }, `--to "": name the backend`},
		{func(f *Flags) { f.To = "https://a" }, `--to "https://a": only http://`},
		{func(f *Flags) { f.To = "127.0.0.1:9000" }, `--to "127.0.0.1:9000": `},
		{func(f *Flags) { f.To = "http://a;b/" }, `--to "http://a;b/": `},
		{func(f *Flags) { f.To = "http://a/$x" }, `--to "http://a/$x": the path`},
		{func(f *Flags) { f.Rate = "10/s" }, "--rate: "},
		{func(f *Flags) { f.Burst = -1 }, "--burst -1: must not be negative"},
		{func(f *Flags) { f.Allow = []string{"10.0.0.0/33"} }, `--allow "10.0.0.0/33": `},
	}
	for _, c := range cases {
		f := good
		c.change(&f)
		if err := f.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s…", err, c.want)
		}
	}
}
