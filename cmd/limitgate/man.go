package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan writes the manual pages. It is for whoever packages limitgate, so it is not listed.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "write the manual pages into a folder",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return failed(writeMan(cmd.Root(), args[0]))
		},
	}
}

// writeMan writes a page for a command and for each below it.
func writeMan(cmd *cobra.Command, folder string) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".8"
	if err := os.WriteFile(filepath.Join(folder, name), []byte(manPage(cmd)), 0o644); err != nil {
		return err
	}
	for _, sub := range listed(cmd) {
		if err := writeMan(sub, folder); err != nil {
			return err
		}
	}
	return nil
}

// listed are the commands below one that its help lists.
func listed(cmd *cobra.Command) (list []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, sub)
		}
	}
	return list
}

// manPage is the page of a command, in the language of man(7).
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 8 \"\" \"limitgate %s\" \"limitgate\"\n", roff(strings.ToUpper(name)), version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	b.WriteString(".SH SYNOPSIS\n")
	fmt.Fprintf(&b, ".B %s\n", roff(cmd.UseLine()))
	text := cmd.Long
	if text == "" {
		text = strings.ToUpper(cmd.Short[:1]) + cmd.Short[1:] + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, text)
	if cmd.HasAvailableLocalFlags() {
		b.WriteString(".SH OPTIONS\n")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { option(&b, f) })
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range listed(cmd) {
		also = append(also, strings.ReplaceAll(sub.CommandPath(), " ", "-"))
	}
	for i, other := range also {
		if i == 0 {
			b.WriteString(".SH SEE ALSO\n")
		}
		comma := ","
		if i == len(also)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, ".BR %s (8)%s\n", roff(other), comma)
	}
	return b.String()
}

// paragraphs writes a text: what is indented stays as it is.
func paragraphs(b *strings.Builder, text string) {
	for i, p := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(p, "  ") {
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(p))
			continue
		}
		b.WriteString(roff(p) + "\n")
	}
}

// option writes a flag with what it takes.
func option(b *strings.Builder, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	takes, usage := pflag.UnquoteUsage(f)
	form := "--" + f.Name
	if f.Shorthand != "" {
		form = "-" + f.Shorthand + ", " + form
	}
	if takes != "" {
		form += " " + takes
	}
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(form), roff(usage))
}

// roff writes a text so that nothing in it is taken for a command or changed.
func roff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
