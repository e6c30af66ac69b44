package story

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// page is docs/story.md as it is written, and the machine on which its commands run: the names of files and addresses that the page shows
// stand for those of the test.
type page struct {
	t    *testing.T
	b    strings.Builder
	real *strings.Replacer // from what the page shows
	show *strings.Replacer // to what the page shows
	env  []string
	root string // holds etc, log and run
}

// The page's names.
const (
	storyConf = "/etc/limitgate/limitgate.conf"
	storyLog  = "/var/log/limitgate/"
)

// newPage lays the folders out. ports are the page's addresses and those of the test, in pairs.
func newPage(t *testing.T, binary gatewaytest.Binary, ports ...string) *page {
	t.Helper()
	p := &page{t: t, root: t.TempDir()}
	if draft := os.Getenv("STORY_DRAFT"); draft != "" {
		t.Cleanup(func() { _ = os.WriteFile(draft, []byte(p.b.String()), 0o644) })
	}
	names := []string{"/etc/limitgate", "etc", "/var/log/limitgate", "log", "/run/limitgate", "run"}
	var there, back []string
	for i := 0; i < len(names); i += 2 {
		folder := filepath.Join(p.root, names[i+1])
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		there, back = append(there, names[i], folder), append(back, folder, names[i])
	}
	for i := 0; i < len(ports); i += 2 {
		there, back = append(there, ports[i], ports[i+1]), append(back, ports[i+1], ports[i])
	}
	p.real, p.show = strings.NewReplacer(there...), strings.NewReplacer(back...)
	bin := filepath.Join(p.root, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary.Path, filepath.Join(bin, "limitgate")); err != nil {
		t.Fatal(err)
	}
	p.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C.UTF-8", "COLUMNS=100")
	return p
}

// head begins a chapter.
func (p *page) head(text string) {
	p.t.Logf("%s: %s", time.Now().Format(time.TimeOnly), text)
	fmt.Fprintf(&p.b, "\n## %s\n", text)
}

// tell adds a paragraph.
func (p *page) tell(format string, args ...any) {
	p.b.WriteString("\n" + wrap(fmt.Sprintf(strings.Join(strings.Fields(format), " "), args...), 110) + "\n")
}

// wrap breaks a text into lines.
func wrap(text string, width int) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
		case n+1+len(word) > width:
			b.WriteString("\n")
			n = 0
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}

// block adds text as it is. What it is, a fence tells: console, nginx, json.
func (p *page) block(kind, text string) {
	fmt.Fprintf(&p.b, "\n```%s\n", kind)
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		p.b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	p.b.WriteString("```\n")
}

// run runs a command as the page shows it, adds both to the page, and returns the output as the page shows it.
func (p *page) run(command string) string {
	p.t.Helper()
	out, err := p.quiet(command)
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	p.block("console", "$ "+command+"\n"+out)
	return out
}

// fails is run for a command that is to end with another code than 0.
func (p *page) fails(command string) string {
	p.t.Helper()
	out, err := p.quiet(command)
	if err == nil {
		p.t.Fatalf("%s: got success, want a failure\n%s", command, out)
	}
	p.block("console", "$ "+command+"\n"+out)
	return out
}

// quiet runs a command and adds nothing.
func (p *page) quiet(command string) (string, error) {
	cmd := exec.Command("sh", "-c", p.real.Replace(command))
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	return p.show.Replace(string(out)), err
}

// write writes a file that the page names.
func (p *page) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.real.Replace(name), []byte(p.real.Replace(text)), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// read reads a file that the page names.
func (p *page) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(p.real.Replace(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return p.show.Replace(string(text))
}

// edit puts text of the running configuration in the place of other text, into the file name, and shows what the page is to show of it.
func (p *page) edit(name, was, is, shown string) {
	p.t.Helper()
	text := p.read(storyConf)
	if strings.Count(text, was) != 1 {
		p.t.Fatalf("%q is %d times in the configuration, want once", was, strings.Count(text, was))
	}
	p.write(name, strings.Replace(text, was, is, 1))
	if shown != "" {
		p.block("nginx", dedent(shown))
	}
}

// dedent takes the indentation of the first line from all.
func dedent(text string) string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimPrefix(line, indent))
	}
	return b.String()
}

// serve starts the gateway on the configuration, as the page shows it. It ends with the test.
func (p *page) serve() {
	p.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(filepath.Join(p.root, "bin", "limitgate"), "-c", p.real.Replace(storyConf))
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("the gateway ended with %v\n%s", err, out.String())
		}
	})
	waits(p.t, "the gateway answers", func() bool { _, err := p.quiet("curl -sf http://127.0.0.1:9100/metrics"); return err == nil })
}

var figure = regexp.MustCompile(`[0-9][0-9.,]*`)

// skeleton is what of the page is the same each time: headings, text and tables without figures, configurations, and commands without what
// they print.
func skeleton(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		kind, is := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case is:
			fence = kind
			b.WriteString("[" + kind + "]\n")
		case fence == "nginx", fence == "console" && strings.HasPrefix(line, "$ "):
			b.WriteString(line)
		case fence == "":
			b.WriteString(figure.ReplaceAllString(strings.TrimSpace(line), "#") + " ")
		}
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(b.String()), "\n"), "\n[", "\n\n[")
}

// finish writes the page, or holds the one that is there against it.
func (p *page) finish(rewrite bool) {
	p.t.Helper()
	const file = "../../docs/story.md"
	text := p.b.String()
	if strings.Contains(text, p.root) || strings.Contains(text, os.TempDir()) {
		p.t.Errorf("the page tells paths of this machine:\n%s", text)
	}
	if p.t.Failed() {
		return
	}
	if rewrite {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	is, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(skeleton(text), skeleton(string(is))); diff != "" {
		p.t.Errorf("docs/story.md is not what was played (-); make story writes it anew:\n%s", diff)
	}
}

// ms writes a time as the page does.
func ms(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// thousands writes a count as the page does.
func thousands(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
