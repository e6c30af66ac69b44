package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/store"
	"github.com/spf13/cobra"
)

// checkTime is how long looking at one store may take.
const checkTime = 30 * time.Second

func newStore() *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "look at the stores of a configuration"}
	asJSON := false
	check := &cobra.Command{
		Use:   "check FILE",
		Short: "tell whether limits can live in the stores of a configuration",
		Long: `store check connects to each limit_store of a configuration, whether the gateway runs or not, and tells how fast it answers,
whether scripts may do there what decisions need, how far its clock is off, whether keys are kept for ever, and whether it may
drop what is owed when its memory is full. It leaves nothing behind. It exits with 1 if something keeps limits from holding.`,
		Example: "  limitgate store check /etc/nginx/nginx.conf",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := checkStores(args[0])
			if err != nil {
				return err
			}
			bad := false
			for _, f := range list {
				if bad = bad || f.Bad; !asJSON {
					printFinding(cmd, f)
				}
			}
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				if err := e.Encode(list); err != nil {
					return err
				}
			}
			if bad {
				return exitCode(exitBad)
			}
			return nil
		},
	}
	check.Flags().BoolVar(&asJSON, "json", false, "write an array of {store, addr, bad, what, help}")
	cmd.AddCommand(check)
	return cmd
}

// checkStores looks at all stores of a configuration.
func checkStores(file string) ([]store.Finding, error) {
	cfg, errs := conf.Load(conf.Options{Path: file})
	if errs.Failed() {
		return nil, errs.List()[0]
	}
	http := cfg.HTTP()
	if http == nil || len(http.Own("limit_store")) == 0 {
		return nil, fmt.Errorf("%s declares no limit_store", file)
	}
	windows := map[string]map[string]time.Duration{}
	for _, d := range http.Own("limit_count_zone") {
		if z, good := conf.ReadLimitCountZone(d, errs); good && z.Store.Text != "" {
			if windows[z.Store.Text] == nil {
				windows[z.Store.Text] = map[string]time.Duration{}
			}
			windows[z.Store.Text][z.Zone.Name] = z.Window
		}
	}
	var list []store.Finding
	for _, d := range http.Own("limit_store") {
		spec, good := conf.ReadLimitStore(d, errs)
		if !good {
			continue
		}
		access, err := store.ReadAccess(spec, filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), checkTime)
		list = append(list, store.Check(ctx, spec, access, windows[spec.Name])...)
		cancel()
	}
	return list, nil
}

func printFinding(cmd *cobra.Command, f store.Finding) {
	mark, where := "ok   ", f.Store
	if f.Bad {
		mark = "BAD  "
	}
	if f.Addr != "" {
		where += " at " + f.Addr
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s%s: %s\n", mark, where, f.What)
	if f.Help != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "  help: %s\n", f.Help)
	}
}
