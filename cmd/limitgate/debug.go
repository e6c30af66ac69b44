package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/spf13/cobra"
)

func newDebug() *cobra.Command {
	cmd := &cobra.Command{Use: "debug", Short: "gather what is needed to understand a running gateway"}
	cmd.AddCommand(newBundle())
	return cmd
}

func newBundle() *cobra.Command {
	f, out := &adminFlags{}, ""
	cmd := &cobra.Command{
		Use: "bundle", Short: "write version, zones, stores, metrics, goroutines and the configuration without secrets to a file", Args: cobra.NoArgs,
		Long: `bundle asks the running gateway for what is needed to understand it, and writes it to one file that can be sent to who helps. Of the configuration
only what is known to be harmless is kept, and keys of limits are hidden; look at it all the same before you send it.`,
		Example: "  limitgate debug bundle -o limitgate.tar.gz -c /etc/nginx/nginx.conf",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var d admin.Debug
			written, err := f.ask(cmd.OutOrStdout(), "GET", "/v1/debug", "", "", &d)
			if err == nil && !written {
				if err = writeBundle(out, d, time.Now()); err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s has %d files\n", out, len(d.Files))
				}
			}
			return failed(err)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "limitgate-debug.tar.gz", "file to write; it must not be there yet")
	return cmd
}

// writeBundle packs what was gathered into a new file that only its owner may read.
func writeBundle(name string, d admin.Debug, at time.Time) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(name) // half of it helps nobody
		}
	}()
	packed := gzip.NewWriter(f)
	t := tar.NewWriter(packed)
	for _, one := range d.Files {
		h := &tar.Header{Name: path.Join("limitgate-debug", path.Base(one.Name)), Mode: 0o600, Size: int64(len(one.Text)), ModTime: at}
		if err := t.WriteHeader(h); err != nil {
			return fmt.Errorf("writing the bundle: %w", err)
		}
		if _, err := io.WriteString(t, one.Text); err != nil {
			return fmt.Errorf("writing the bundle: %w", err)
		}
	}
	return errors.Join(t.Close(), packed.Close())
}
