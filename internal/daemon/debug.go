package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/conf/syntax"
	"github.com/limitgate/limitgate/internal/redact"
)

// bundleKeys is how many keys of each zone a bundle tells of, hidden.
const bundleKeys = 50

// Debug implements admin.Gateway.
func (o operator) Debug() (admin.Debug, error) {
	var d admin.Debug
	now := limitgate.Now()
	info := "no build information\n"
	if b, ok := debug.ReadBuildInfo(); ok {
		info = b.String()
	}
	d.Add("version.txt", fmt.Sprintf("limitgate %s %s\n%s %s/%s, %d processors, GOMAXPROCS %d\nup %v at %s\n\n%s", o.options.Version, o.options.Revision,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0), now.Sub(o.observed.started), time.Unix(0, int64(now)).UTC().Format(time.RFC3339), info))
	top, err := o.Top(admin.Question{Keys: bundleKeys, Hash: true})
	if err != nil {
		return d, err
	}
	peers := o.Peers()
	for i := range peers.Stores {
		peers.Stores[i].URL = redact.Word(peers.Stores[i].URL)
	}
	for name, v := range map[string]any{"zones.json": top, "stores.json": peers} {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return d, fmt.Errorf("writing %s: %w", name, err)
		}
		d.Add(name, string(text)+"\n")
	}
	var b bytes.Buffer
	if err := o.Metrics(&b); err != nil {
		return d, err
	}
	d.Add("metrics.txt", b.String())
	b.Reset()
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return d, fmt.Errorf("writing the goroutines: %w", err)
	}
	d.Add("goroutines.txt", b.String())
	if l := o.running.Load(); l != nil {
		d.Add("configuration.txt", syntax.Print(redact.Tree(slices.Concat(l.config.Tree.Globals, l.config.Tree.Body))))
	}
	return d, nil
}
