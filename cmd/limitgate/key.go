package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/override"
	"github.com/limitgate/limitgate/internal/printable"
	"github.com/spf13/cobra"
)

func newKey() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "look at a key of a running gateway, forget what it owes, or give it other numbers",
		Long: `key asks the running gateway about a key of a zone: a client's address, where the zone counts by it, or whatever its key is.
Through limit_store all instances see the same.`,
	}
	cmd.AddCommand(newKeyShow(), newKeyReset(), newKeySet())
	return cmd
}

func keyQuery(args []string) string {
	return url.Values{"zone": {args[0]}, "key": {args[1]}}.Encode()
}

func newKeyShow() *cobra.Command {
	f := &adminFlags{}
	cmd := &cobra.Command{
		Use: "show ZONE KEY", Short: "tell what the limits of a zone say of a key", Args: cobra.ExactArgs(2),
		Example: "  limitgate key show login 192.0.2.7 -c /etc/nginx/nginx.conf",
		RunE: func(cmd *cobra.Command, args []string) error {
			var k admin.Key
			written, err := f.ask(cmd.OutOrStdout(), "GET", "/v1/key", keyQuery(args), "", &k)
			if err == nil && !written {
				err = writeKey(cmd.OutOrStdout(), k)
			}
			return failed(err)
		},
	}
	f.add(cmd)
	return cmd
}

func writeKey(w io.Writer, k admin.Key) error {
	var b strings.Builder
	where := "in this process"
	if k.Store != "" {
		where = "in store " + k.Store
	}
	fmt.Fprintf(&b, "%s of zone %s, %s\n", printable.Text(k.Key), k.Zone, where)
	if k.Set != nil {
		fmt.Fprintf(&b, "  set for this key: %s\n", k.Set.Text())
	}
	for _, l := range k.Limits {
		fmt.Fprintf(&b, "  %s at %s: ", l.Directive, l.At)
		if l.Error != "" {
			fmt.Fprintf(&b, "%s\n", l.Error)
			continue
		}
		fmt.Fprintf(&b, "%s; the next request is %s, excess %s, %d more would pass", l.Is, l.Outcome, l.Excess, l.Remaining)
		if l.Watched {
			b.WriteString("; only watched: the key is not among those that it is enforced for")
		}
		if l.RetryAfter > 0 {
			fmt.Fprintf(&b, ", again in %v", l.RetryAfter.Round(time.Millisecond))
		}
		if l.Fallback != "" {
			fmt.Fprintf(&b, " (fail=%s: the store does not answer)", l.Fallback)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newKeyReset() *cobra.Command {
	f := &adminFlags{}
	cmd := &cobra.Command{
		Use: "reset ZONE KEY", Short: "forget what a key was charged", Args: cobra.ExactArgs(2),
		Example: "  limitgate key reset login 192.0.2.7 -c /etc/nginx/nginx.conf",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := f.ask(io.Discard, "POST", "/v1/key/reset", keyQuery(args), "", &struct{}{})
			return failed(err)
		},
	}
	f.add(cmd)
	return cmd
}

func newKeySet() *cobra.Command {
	f := &adminFlags{}
	cmd := &cobra.Command{
		Use:   "set ZONE KEY [rate=RATE] [burst=N] [limit=N] [capacity=N] [ttl=TIME]",
		Short: "give a key other numbers than the configuration has",
		Long: `set gives one key other numbers than the configuration has, in all instances that share the zone, within a second; without any it
takes them back. They hold for ttl, or until they are taken back, also over a restart: those of a zone in a store are kept
there, others in a file beside the admin socket.`,
		Example: `  limitgate key set api partner-7 rate=100r/s burst=200 ttl=24h -c /etc/nginx/nginx.conf
  limitgate key set api partner-7 -c /etc/nginx/nginx.conf`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := numbersOf(args[2:], time.Now())
			if err != nil {
				return err
			}
			body, err := json.Marshal(n)
			if err != nil {
				return err
			}
			_, err = f.ask(io.Discard, "POST", "/v1/key/set", keyQuery(args), string(body), &struct{}{})
			return failed(err)
		},
	}
	f.add(cmd)
	return cmd
}

// numbersOf reads NAME=VALUE arguments; without any the numbers are empty.
func numbersOf(args []string, now time.Time) (n override.Numbers, err error) {
	for _, a := range args {
		name, value, found := strings.Cut(a, "=")
		var into **int64
		switch name {
		case "rate":
			n.Rate = value
			continue
		case "ttl":
			ttl, err := time.ParseDuration(value)
			if err != nil || ttl <= 0 {
				return n, fmt.Errorf("%q: a time is written like 90s, 30m or 24h", a)
			}
			until := now.Add(ttl).Round(time.Millisecond)
			n.Until = &until
			continue
		case "burst":
			into = &n.Burst
		case "limit":
			into = &n.Limit
		case "capacity":
			into = &n.Capacity
		}
		v, err := strconv.ParseInt(value, 10, 64)
		if !found || into == nil || err != nil {
			return n, fmt.Errorf("%q: it is one of rate=RATE, burst=N, limit=N, capacity=N and ttl=TIME", a)
		}
		*into = &v
	}
	if len(args) == 0 {
		return n, nil
	}
	if n.Rate == "" && n.Burst == nil && n.Limit == nil && n.Capacity == nil {
		return n, errors.New("a ttl alone sets nothing: name rate=, burst=, limit= or capacity=")
	}
	return n, n.Check()
}

func writeIndented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
