package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/daemon"
	"github.com/spf13/cobra"
)

// adminFlags say where the admin socket of a running gateway is.
type adminFlags struct {
	socket  string
	options daemon.Options
	json    bool
}

func (f *adminFlags) add(cmd *cobra.Command) {
	f.options = daemon.Options{Version: version, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.Flags().StringVar(&f.socket, "socket", "", "the admin socket, where the configuration is not to be asked")
	cmd.Flags().StringVarP(&f.options.File, "conf", "c", "", "configuration file, relative to the prefix (default /etc/nginx/nginx.conf)")
	cmd.Flags().StringVarP(&f.options.Prefix, "prefix", "p", "", "folder that relative paths belong to")
	cmd.Flags().BoolVar(&f.json, "json", false, "write the answer as it came")
}

// client finds the socket.
func (f *adminFlags) client() (*admin.Client, error) {
	path := f.socket
	if path == "" {
		var err error
		if path, err = daemon.AdminSocket(f.options); err != nil {
			return nil, err
		}
	}
	if path == "" {
		return nil, errors.New("the configuration names no admin socket; write admin PATH; at its top level, and start the gateway")
	}
	return admin.NewClient(path), nil
}

// ask asks and reads the answer into v, or writes it as it came.
func (f *adminFlags) ask(w io.Writer, method, path, query, body string, v any) (written bool, err error) {
	c, err := f.client()
	if err != nil {
		return false, err
	}
	if err := c.Ask(method, path, query, strings.NewReader(body), v); err != nil {
		return false, err
	}
	if f.json {
		return true, writeIndented(w, v)
	}
	return false, nil
}

// failed is how a question to a running gateway fails: it says so and exits with 1, because the usage was right.
func failed(err error) error {
	if err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "limitgate: %s\n", err)
	return exitCode(exitBad)
}

func newPeers() *cobra.Command {
	f := &adminFlags{}
	cmd := &cobra.Command{
		Use:     "peers",
		Short:   "tell which instances share the stores of a running gateway",
		Example: "  limitgate peers -c /etc/nginx/nginx.conf",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var p admin.Peers
			written, err := f.ask(cmd.OutOrStdout(), "GET", "/v1/peers", "", "", &p)
			if err == nil && !written {
				err = writePeers(cmd.OutOrStdout(), p)
			}
			return failed(err)
		},
	}
	f.add(cmd)
	return cmd
}

func writePeers(w io.Writer, p admin.Peers) error {
	var b strings.Builder
	if len(p.Stores) == 0 {
		fmt.Fprintf(&b, "%s shares nothing: the configuration declares no limit_store\n", p.Instance)
	}
	for _, s := range p.Stores {
		fmt.Fprintf(&b, "%s %s: %s, %d instances\n", s.Name, s.URL, s.Phase, len(s.Peers))
		if s.Error != "" {
			fmt.Fprintf(&b, "  %s\n", s.Error)
		}
		for _, name := range s.Peers {
			me := ""
			if name == p.Instance {
				me = "  (this one)"
			}
			fmt.Fprintf(&b, "  %s%s\n", name, me)
		}
		fmt.Fprintf(&b, "  %d calls, %d failed (%d timeouts), %d not made; decided without it: %d open, %d closed, %d local\n",
			s.Calls, s.Failed, s.Timeouts, s.Spared, s.Open, s.Closed, s.Local)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
