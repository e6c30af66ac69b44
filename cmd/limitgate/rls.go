package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/settings"
	"github.com/limitgate/limitgate/internal/rls/simulate"
	"github.com/spf13/cobra"
)

func newRLS() *cobra.Command {
	f := rlsFlags{memory: defaultMemory}
	cmd := &cobra.Command{
		Use:   "rls --config DIR",
		Short: "answer Envoy's rate limit requests, by the rules of envoyproxy/ratelimit",
		Long: `rls is a rate limit service for Envoy and all who speak its protocol. It reads the YAML of envoyproxy/ratelimit as it is, and
its environment, counts in memory or in Redis, and reads the rules again when their files change. docs/rls.md has it all;
docs/from-envoy.md says how to move from envoyproxy/ratelimit.`,
		Example: `  limitgate rls --config rules --listen 127.0.0.1:8081 --http 127.0.0.1:8080
  limitgate rls --config rules --store redis://10.0.0.5:6379`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return serveRules(f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.config, "config", "", "folder of rules, or one file (default what RUNTIME_ROOT and its kin say)")
	fl.StringVar(&f.listen, "listen", "", "address of gRPC; unix:PATH for a socket (default GRPC_HOST:GRPC_PORT, 0.0.0.0:8081)")
	fl.StringVar(&f.http, "http", "", "address of /json, /healthcheck, /metrics, /stats, /rlconfig (default HOST:PORT, 0.0.0.0:8080)")
	fl.StringVar(&f.store, "store", "", "where counters are: redis://HOST:PORT and the like, or memory (default REDIS_URL, else memory)")
	fl.IntVar(&f.memory, "memory", defaultMemory, "megabytes for each kind of counters in memory: a megabyte holds 43,000")
	cmd.AddCommand(newRLSCheck(), newRLSSimulate())
	return cmd
}

func newRLSCheck() *cobra.Command {
	merge := false
	cmd := &cobra.Command{
		Use:   "check FILE|DIR",
		Short: "say what is wrong with files of rules",
		Long: `check reads files of rules as the rate limit service would, a file or all of a folder together, and tells for each mistake
the place, what is wrong and what would be right. It exits 1 if there is any, also for what the service would only warn of:
keys that are not read where they stand.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return checkRules(load.Folder{Dir: args[0], Merge: merge, DotFiles: true})
		},
	}
	cmd.Flags().BoolVar(&merge, "merge", false, "several files may name one domain, as with MERGE_DOMAIN_CONFIG=true")
	return cmd
}

// checkRules tells what is wrong with rules.
func checkRules(f load.Folder) error {
	t, warnings, err := f.Table()
	var wrong config.Errors
	switch {
	case errors.As(err, &wrong):
	case err != nil:
		return bad(err)
	}
	for _, e := range wrong {
		fmt.Fprintf(os.Stderr, "error: %s\n", e)
	}
	for _, e := range warnings {
		fmt.Fprintf(os.Stderr, "warning: %s\n", e)
	}
	if len(wrong)+len(warnings) > 0 {
		return exitCode(exitBad)
	}
	fmt.Printf("%s: %s, %s\n", f.Dir, plural(t.Domains(), "domain"), plural(len(t.Rules), "limit"))
	return nil
}

// plural counts things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func newRLSSimulate() *cobra.Command {
	dir, events := "", ""
	var env []string
	cmd := &cobra.Command{
		Use:   "simulate --config DIR",
		Short: "tell what the service would answer to a list of requests, on a virtual clock",
		Long: `simulate reads requests with their times, one JSON object a line, and writes for each what the service would answer: nothing
listens, nothing waits. docs/rls.md names the fields. Settings of envoyproxy/ratelimit's environment are given by --env; those of
the process are not read.`,
		Example: `  limitgate rls simulate --config rules --events events.jsonl --env LIMIT_RESPONSE_HEADERS_ENABLED=true
  echo '{"at_ms":0,"domain":"shop","descriptors":[{"entries":[["ip","192.0.2.1"]]}]}' | limitgate rls simulate --config rules`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return errors.New("simulate: --config names the folder of rules")
			}
			for _, kv := range env {
				if !strings.Contains(kv, "=") {
					return fmt.Errorf("simulate: --env %q: write NAME=VALUE", kv)
				}
			}
			s, err := settings.Read(env)
			if err != nil {
				return err
			}
			return simulateRules(load.Folder{Dir: dir}, s, events)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&dir, "config", "", "folder of rules, or one file")
	fl.StringVar(&events, "events", "-", "file of events; - reads standard input")
	fl.StringArrayVar(&env, "env", nil, "a setting, as NAME=VALUE; may be given again")
	return cmd
}

// simulateRules runs a simulation. Rules that are wrong end it, unless an event loads them: then its answer tells.
func simulateRules(f load.Folder, s settings.Settings, events string) error {
	for _, name := range s.Ignored {
		fmt.Fprintf(os.Stderr, "limitgate: %s means nothing here\n", name)
	}
	for _, name := range s.Unknown {
		fmt.Fprintf(os.Stderr, "limitgate: %s is no setting of envoyproxy/ratelimit, and changes nothing\n", name)
	}
	var in io.Reader = os.Stdin
	if events != "-" {
		file, err := os.Open(events)
		if err != nil {
			return bad(err)
		}
		defer file.Close()
		in = file
	}
	sim := simulate.New(f, s)
	if err := sim.Run(in, os.Stdout); err != nil {
		return bad(err)
	}
	return nil
}
