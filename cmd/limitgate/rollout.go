package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/rollout"
	"github.com/spf13/cobra"
)

func newRollout() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "look at limits that are switched on step by step, and go on, stay or go back",
		Long: `rollout asks the running gateway about its limit_rollout blocks: how many keys each enforces, what it waits for, what was seen of
enforced and of watched keys. It also takes the next step, stays at one, or puts everything back into dry run. Each instance
rolls out on its own: tell each of them.`,
	}
	cmd.AddCommand(newRolloutStatus(),
		newRolloutAct("advance", "take the next step at once; one that was aborted begins again"),
		newRolloutAct("hold", "stay at the present step; stop conditions still act"),
		newRolloutAct("resume", "let one that is held go on"),
		newRolloutAct("abort", "put all keys into dry run, until advance"))
	return cmd
}

func newRolloutStatus() *cobra.Command {
	f := &adminFlags{}
	cmd := &cobra.Command{
		Use: "status [NAME]", Short: "tell where rollouts are, and what was seen", Args: cobra.MaximumNArgs(1),
		Example: "  limitgate rollout status -c /etc/nginx/nginx.conf",
		RunE: func(cmd *cobra.Command, args []string) error {
			return failed(rolloutStatus(cmd.OutOrStdout(), f, strings.Join(args, ""), time.Now()))
		},
	}
	f.add(cmd)
	return cmd
}

func rolloutStatus(w io.Writer, f *adminFlags, name string, now time.Time) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	var all, list []rollout.Report
	if err := c.Ask("GET", "/v1/rollouts", "", nil, &all); err != nil {
		return err
	}
	for _, r := range all {
		if name == "" || r.Name == name {
			list = append(list, r)
		}
	}
	switch {
	case name != "" && len(list) == 0:
		return fmt.Errorf("there is no rollout %q", name)
	case f.json:
		return writeIndented(w, append([]rollout.Report{}, list...))
	case len(list) == 0:
		_, err = io.WriteString(w, "the running configuration has no limit_rollout\n")
		return err
	}
	var b strings.Builder
	for i := range list {
		writeRollout(&b, &list[i], now)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func writeRollout(b *strings.Builder, r *rollout.Report, now time.Time) {
	fmt.Fprintf(b, "%s: %s, enforced for %s of the keys since %s (%v)\n", r.Name, r.Phase, r.Share,
		r.Since.Local().Format(time.DateTime), now.Sub(r.Since).Round(time.Second))
	if r.Why != "" {
		fmt.Fprintf(b, "  why: %s\n", r.Why)
	}
	steps := make([]string, len(r.Steps))
	for i, s := range r.Steps {
		if steps[i] = s.String(); i == r.Step {
			steps[i] = "[" + steps[i] + "]"
		}
	}
	fmt.Fprintf(b, "  zones %s; steps %s, %s each\n", strings.Join(r.Zones, " "), strings.Join(steps, " "), r.Interval)
	if r.WaitsFor != "" {
		fmt.Fprintf(b, "  next step: %s\n", r.WaitsFor)
	}
	for _, s := range r.Stops {
		fmt.Fprintf(b, "  stops where %s\n", s)
	}
	for _, side := range []struct {
		name string
		f    *rollout.Figures
	}{{"enforced", &r.Enforced}, {"watched", &r.Watched}} {
		refused := map[string]string{"enforced": "refused", "watched": "would be refused"}[side.name]
		fmt.Fprintf(b, "  %-8s within %s: %d requests, %s %s, 5xx %s, p50 %v, p99 %v\n", side.name, r.Window, side.f.Requests,
			side.f.RefusedShare(), refused, side.f.ErrorShare(), side.f.P50, side.f.P99)
	}
}

func newRolloutAct(act, short string) *cobra.Command {
	f := &adminFlags{}
	cmd := &cobra.Command{
		Use: act + " [NAME]", Short: short, Args: cobra.MaximumNArgs(1),
		Example: "  limitgate rollout " + act + " login -c /etc/nginx/nginx.conf",
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{"name": {strings.Join(args, "")}}.Encode()
			_, err := f.ask(cmd.OutOrStdout(), "POST", "/v1/rollout/"+act, query, "", &struct{}{})
			return failed(err)
		},
	}
	f.add(cmd)
	return cmd
}
