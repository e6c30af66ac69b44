package conformance

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/otlp/otlptest"
)

// TestTracesAreSentAtTheEnd: a process that ends, gracefully or not, sends the spans that wait, beside nginx's
// load_module line; what lets it in at the collector stands in no log.
func TestTracesAreSentAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGTERM} {
		c := otlptest.Start(t, "")
		g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(`load_module modules/ngx_otel_module.so;
events {}
error_log logs/error.log debug;
http {
    otel_exporter { endpoint %s; interval 1h; header authorization hunter2hunter2; }
    otel_trace on;
    limit_req_zone $binary_remote_addr zone=one:1m rate=6r/h;
    server { listen 127.0.0.1:@8080@; root nowhere; location / { limit_req zone=one; } }
}
`, c.Addr))
		statuses(t, g, "/", 3)
		if n := len(c.Seen().Spans); n != 0 {
			t.Errorf("%v: got %d spans before their time", sig, n)
		}
		g.Signal(sig)
		spans := c.Await(t, 3)
		if got := fmt.Sprint(otlptest.Attributes(spans[2].Events[0].Attributes)["limitgate.outcome"]); got != "refused" {
			t.Errorf("%v: got %s", sig, got)
		}
		if log := g.ErrorLog(); strings.Contains(log, "hunter2") {
			t.Errorf("%v: the log has the header", sig)
		}
	}
}

// TestAnAwayCollectorKeepsNoProcess: the end waits for it no longer than a second.
func TestAnAwayCollectorKeepsNoProcess(t *testing.T) {
	t.Parallel()
	c := otlptest.Start(t, "")
	c.Hold(true)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(`events {}
http {
    otel_exporter { endpoint %s; interval 1h; }
    otel_trace on;
    server { listen 127.0.0.1:@8080@; root nowhere; location / { } }
}
`, c.Addr))
	statuses(t, g, "/", 1)
	begun := time.Now()
	g.Stop()
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("took %v", took)
	}
}
