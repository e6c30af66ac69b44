package main

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/history"
	"github.com/spf13/cobra"
)

// rollbackFlags are the flags of rollback.
type rollbackFlags struct {
	adminFlags
	watch   time.Duration
	noWatch bool
	factor  float64
}

// askTime is how often a watch is asked how it goes.
const askTime = 200 * time.Millisecond

func newRollback() *cobra.Command {
	f := &rollbackFlags{}
	cmd := &cobra.Command{
		Use:   "rollback [NUMBER]",
		Short: "go back to a configuration that was active, and watch whether that makes things worse",
		Long: `rollback has the running gateway check a configuration of its history again and go back to it; without NUMBER to the one that was
active before. Then the gateway watches: if the share of requests that fail with 5xx, or that limits reject, grows beyond --factor
times what it was in the minute before and 2 of 100 requests on top, it returns to what ran before the rollback, and says so. It
takes 50 requests to tell. The gateway watches by itself: interrupting this command does not end it.

The configuration on the disk stays as it is, and a reload or a restart reads it again. rollback exits with 1 if nothing changed, or
if the gateway returned.`,
		Example: `  limitgate history -c /etc/nginx/nginx.conf
  limitgate rollback -c /etc/nginx/nginx.conf
  limitgate rollback 7 --watch 2m -c /etc/nginx/nginx.conf
  limitgate rollback 7 --no-watch -c /etc/nginx/nginx.conf`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.OutOrStdout(), args) },
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&f.watch, "watch", 30*time.Second, "how long to watch, up to 1h")
	cmd.Flags().BoolVar(&f.noWatch, "no-watch", false, "do not watch")
	cmd.Flags().Float64Var(&f.factor, "factor", 2, "how many times more failures or rejections are worse")
	return cmd
}

func (f *rollbackFlags) run(w io.Writer, args []string) error {
	query := url.Values{"watch": {f.watch.String()}, "factor": {strconv.FormatFloat(f.factor, 'g', -1, 64)}}
	if f.noWatch {
		query.Set("watch", "0s")
	}
	if len(args) > 0 {
		if _, err := numberArg(args[0]); err != nil {
			return err
		}
		query.Set("number", args[0])
	}
	c, err := f.client()
	if err != nil {
		return failed(err)
	}
	var done admin.Rollback
	if err := c.Ask("POST", "/v1/rollback", query.Encode(), nil, &done); err != nil {
		return failed(err)
	}
	if !f.json {
		fmt.Fprintf(w, "number %d is active again, %s\n", done.From, asNumber(done.Number))
	}
	if !done.Watched {
		if f.json {
			return writeIndented(w, done)
		}
		return nil
	}
	if !f.json {
		fmt.Fprintf(w, "watching for %v\n", f.watch)
	}
	var state admin.Watch
	for state.State = "watching"; state.State == "watching"; time.Sleep(askTime) {
		if err := c.Ask("GET", "/v1/rollback", "", nil, &state); err != nil {
			return failed(err)
		}
	}
	if f.json {
		err = writeIndented(w, state)
	} else {
		_, err = io.WriteString(w, watchText(state))
	}
	if err == nil && state.State != "good" {
		err = exitCode(exitBad)
	}
	return err
}

// asNumber says under which number something is kept.
func asNumber(n int) string {
	if n == 0 {
		return "and could not be kept under a number of its own: see the error log"
	}
	return fmt.Sprintf("as number %d", n)
}

func watchText(s admin.Watch) string {
	switch s.State {
	case "good":
		if s.Since.Requests < history.Least {
			return fmt.Sprintf("too few requests to tell: %d since, of the %d that it takes\n", s.Since.Requests, history.Least)
		}
		return fmt.Sprintf("nothing is worse: %d requests since, %d failed with 5xx, %d rejected by limits\n", s.Since.Requests, s.Since.Failed, s.Since.Rejected)
	case "worse":
		return fmt.Sprintf("it became worse: %s; what ran before is active again, %s\n", s.Why, asNumber(s.Returned))
	case "stuck":
		return "it became worse: " + s.Why + "\n"
	}
	return "another configuration became active meanwhile: the watch is over\n"
}
