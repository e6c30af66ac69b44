package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/printable"
	"github.com/spf13/cobra"
)

// topFlags are the flags of top.
type topFlags struct {
	adminFlags
	once  bool
	hash  bool
	zone  string
	keys  int
	every time.Duration
}

func newTop() *cobra.Command {
	f := &topFlags{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "watch what the limits of a running gateway decide, and whom they limit",
		Long: `top shows the zones of a running gateway: what passes, is delayed and is refused, how full they are, and the keys that are limited most,
with those that come most behind them. It is drawn anew until Ctrl-C; where nobody looks at a terminal, once.

Rates are those of the last minutes, of which older ones count less. Keys are shown as they are, since the admin socket is the operator's: --hash
hides them, so that a picture of it can be sent around.`,
		Example: "  limitgate top -c /etc/nginx/nginx.conf\n  limitgate top --socket /run/limitgate.sock --once --zone login",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.every < 100*time.Millisecond {
				return fmt.Errorf("--every %v: a view is drawn every 100ms at most", f.every)
			}
			if f.once || f.json || !isTerminal(os.Stdout) {
				return failed(f.show(cmd.OutOrStdout()))
			}
			return failed(f.watch(cmd.OutOrStdout()))
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.once, "once", false, "write one view and end")
	cmd.Flags().BoolVar(&f.hash, "hash", false, "show what stands for a key instead of the key")
	cmd.Flags().StringVar(&f.zone, "zone", "", "show this zone alone")
	cmd.Flags().IntVarP(&f.keys, "keys", "n", 10, "keys of each zone, at most")
	cmd.Flags().DurationVar(&f.every, "every", 2*time.Second, "how often the view is drawn")
	return cmd
}

func (f *topFlags) query() string {
	q := url.Values{"zone": {f.zone}, "keys": {strconv.Itoa(f.keys)}}
	if f.hash {
		q.Set("hash", "1")
	}
	return q.Encode()
}

// show writes one view.
func (f *topFlags) show(w io.Writer) error {
	var t admin.Top
	written, err := f.ask(w, "GET", "/v1/top", f.query(), "", &t)
	if err == nil && !written {
		_, err = io.WriteString(w, topText(t))
	}
	return err
}

// The other screen of a terminal, which leaves what stood on this one as it was.
const (
	otherScreen = "\x1b[?1049h\x1b[?25l"
	thisScreen  = "\x1b[?25h\x1b[?1049l"
	drawOver    = "\x1b[H"
	restOfLine  = "\x1b[K"
	restOfAll   = "\x1b[J"
)

// watch draws views until the user has seen enough, or the gateway is gone.
func (f *topFlags) watch(w io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c, err := f.client()
	if err != nil {
		return err
	}
	fmt.Fprint(w, otherScreen)
	defer fmt.Fprint(w, thisScreen)
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for {
		var t admin.Top
		if err := c.Ask("GET", "/v1/top", f.query(), nil, &t); err != nil {
			return err
		}
		fmt.Fprint(w, drawOver+strings.ReplaceAll(topText(t), "\n", restOfLine+"\n")+restOfAll)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// topText is a view for people.
func topText(t admin.Top) string {
	var b strings.Builder
	fmt.Fprintf(&b, "limitgate %s, up %v: %d connections, %d requests in flight, %d so far\n\n", t.Version, t.Uptime.Round(time.Second), t.Connections, t.InFlight, t.Requests)
	if len(t.Zones) == 0 {
		b.WriteString("the configuration has no zones\n")
	} else {
		writeZones(&b, t.Zones)
	}
	for _, z := range t.Zones {
		writeTopKeys(&b, z)
	}
	if len(t.Findings) > 0 {
		b.WriteString("\nfindings\n")
	}
	for _, f := range t.Findings {
		fmt.Fprintf(&b, "  since %s  %s\n", f.Since.Format("2006-01-02 15:04"), printable.Text(f.Text))
	}
	return b.String()
}

func writeZones(b *strings.Builder, zones []admin.TopZone) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "ZONE\tIN\tPASSED/s\tDELAYED/s\tREFUSED/s\tKEYS\tOF\tFORGOTTEN\tNO ROOM\n")
	for _, z := range zones {
		in := "memory"
		if z.Store != "" {
			in = z.Store
		}
		passed := max(z.Asked-z.Delayed-z.Refused, 0)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\n", printable.Text(z.Zone), printable.Text(in), rate(passed), rate(z.Delayed), rate(z.Refused),
			z.Keys, z.Capacity, z.HotEvictions, z.Full)
	}
	w.Flush()
	for _, z := range zones {
		if others := otherOutcomes(z.Decisions); others != "" {
			fmt.Fprintf(b, "%s, since the start: %s\n", printable.Text(z.Zone), others)
		}
	}
}

// otherOutcomes are those that the columns don't tell apart.
func otherOutcomes(decisions map[string]uint64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(decisions)) {
		if name != "passed" && name != "delayed" && name != "refused" {
			list = append(list, fmt.Sprintf("%s %d", name, decisions[name]))
		}
	}
	return strings.Join(list, ", ")
}

func writeTopKeys(b *strings.Builder, z admin.TopZone) {
	if len(z.Top) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", printable.Text(z.Zone))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "  KEY\tASKED/s\tLIMITED/s\tDELAYED/s\tDELAY\n")
	for _, k := range z.Top {
		key := printable.Text(k.Key)
		if k.Cut {
			key += "..."
		}
		limited := rate(k.Limited)
		if k.Over >= 0.05 {
			limited = rate(k.Limited-k.Over) + " to " + limited
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%v\n", key, rate(k.Asked), limited, rate(k.Delayed), k.Delay.Round(time.Millisecond))
	}
	w.Flush()
	if z.Absent >= 0.05 {
		fmt.Fprintf(b, "  no other key is limited more than %s times a second\n", rate(z.Absent))
	}
}

// rate writes a rate: one place behind the point is as much as it is known.
func rate(perSecond float64) string { return strconv.FormatFloat(perSecond, 'f', 1, 64) }
