package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/limitgate/limitgate/internal/compat"
	"github.com/spf13/cobra"
)

func newExport() *cobra.Command {
	nginx := false
	cmd := &cobra.Command{
		Use:   "export --nginx FILE",
		Short: "write a configuration as nginx reads it, without what only limitgate has",
		Long: `export --nginx writes a configuration to standard output without limitgate's own directives, parameters and variables;
everything else, comments too, stays as it is. An included file that had to change stands in the place of its include.
What was left out or written otherwise is told on standard error, with the line. Put the output beside the file it comes
from: relative names in it belong to that folder.`,
		Example: `  limitgate export --nginx nginx.conf > nginx-plain.conf && nginx -t -c "$PWD/nginx-plain.conf"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !nginx {
				return errors.New("export needs --nginx, the form to write")
			}
			x, faults := compat.ToNginx(args[0], nil)
			if len(faults) > 0 {
				tellFaults(faults)
				return exitCode(exitBad)
			}
			for _, c := range x.Changes {
				fmt.Fprintf(os.Stderr, "%s:%d: %s\n", c.File, c.Line, c.What)
			}
			_, err := cmd.OutOrStdout().Write(x.Text)
			return err
		},
	}
	cmd.Flags().BoolVar(&nginx, "nginx", false, "write what nginx reads")
	return cmd
}
