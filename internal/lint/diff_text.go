package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// placesOf names scopes so that one is found again in another configuration. Those that would have one name are numbered.
func placesOf(scopes []*conf.Scope) map[*conf.Scope]string {
	places := map[*conf.Scope]string{}
	used := map[string]int{}
	for _, s := range scopes {
		name := placeOf(s, places)
		if used[name]++; used[name] > 1 {
			name += fmt.Sprintf(" (%d)", used[name])
		}
		places[s] = name
	}
	return places
}

func placeOf(s *conf.Scope, outer map[*conf.Scope]string) string {
	around := ""
	if s.Parent != nil && s.Parent.Kind&(conf.Server|conf.Location) != 0 {
		around = " of " + outer[s.Parent]
	}
	switch {
	case s.Kind == conf.Server:
		return serverPlace(s)
	case s.Kind == conf.Location && s.Place != nil:
		return "location " + strings.Join(words(s.Opener), " ") + around
	case s.Opener != nil && len(s.Opener.Args) > 0:
		return s.Opener.Name + " " + strings.Join(words(s.Opener), " ") + around
	}
	return s.Kind.String() + around
}

// serverPlace names a server by its first name and, where that is not all, by where it listens.
func serverPlace(s *conf.Scope) string {
	name := ""
	if list := s.Own("server_name"); len(list) > 0 {
		name = list[0].Arg(0)
	}
	listens := s.Own("listen")
	switch {
	case name != "" && len(listens) > 0 && listens[0].Arg(0) != "80":
		return "server " + name + " on " + listens[0].Arg(0)
	case name != "":
		return "server " + name
	case len(listens) > 0:
		return "server on " + listens[0].Arg(0)
	}
	return "server"
}

// text is a change in one line.
func (c Change) text() string {
	switch {
	case c.What == "limit":
		return c.limitText()
	case c.What == "setting":
		return c.settingText()
	case c.What == "table":
		return "table " + c.Name + ", which limits go by: " + rowsText(c.Figures)
	case c.Change == "added" && c.What == "zone":
		return fmt.Sprintf("%s: new zone of %s that no limit uses: %s", c.Name, c.Limit, figuresText(c.Figures))
	case c.Change == "added":
		return fmt.Sprintf("%s: new %s: %s", c.Name, c.What, figuresText(c.Figures))
	case c.Change == "removed":
		return fmt.Sprintf("%s: %s removed", c.Name, c.What)
	case c.What == "zone":
		text := c.Name + ": " + figuresText(c.Figures)
		if len(c.Places) > 1 {
			text += fmt.Sprintf(" (in %d places)", len(c.Places))
		}
		return text
	}
	return fmt.Sprintf("%s %s: %s", c.What, c.Name, figuresText(c.Figures))
}

func (c Change) limitText() string {
	switch {
	case c.Change == "removed" && len(c.Places) > 0:
		return fmt.Sprintf("%s: no longer in force in %s, which has limits of its own", c.Name, strings.Join(c.Places, ", "))
	case c.Change == "added" && len(c.Places) > 0:
		return fmt.Sprintf("%s: now in force in %s too", c.Name, strings.Join(c.Places, ", "))
	case c.Change == "removed":
		return fmt.Sprintf("%s: %s removed from %s", c.Name, c.Limit, c.Where)
	case c.Change == "added":
		return fmt.Sprintf("%s: new %s in %s: %s", c.Name, c.Limit, c.Where, figuresText(c.Figures))
	}
	return fmt.Sprintf("%s: %s (%s)", c.Name, figuresText(c.Figures), c.Where)
}

func (c Change) settingText() string {
	text := c.Name
	if c.Name == "set_real_ip_from" {
		text = "trusted proxies (set_real_ip_from)"
	}
	if c.Where != "" {
		text += " in " + c.Where
	}
	return text + ": " + figuresText(c.Figures)
}

// figuresText writes figures behind each other. The rate and the limit of windows need no name before them.
func figuresText(list []Figure) string {
	var parts []string
	for _, f := range list {
		name := f.Name + " "
		if slices.Contains([]string{"rate", "limit", "value"}, f.Name) {
			name = ""
		}
		switch {
		case f.Name == "entry" && f.Is != "":
			parts = append(parts, "+ "+f.Is)
		case f.Name == "entry":
			parts = append(parts, "- "+f.Was)
		case f.Was == "":
			parts = append(parts, name+f.Is)
		case f.Is == "":
			parts = append(parts, name+f.Was+" -> none")
		default:
			parts = append(parts, name+f.Was+" -> "+f.Is)
		}
	}
	return strings.Join(parts, ", ")
}

func rowsText(list []Figure) string {
	var parts []string
	for _, f := range list {
		switch {
		case strings.HasPrefix(f.Name, "rows "):
			parts = append(parts, f.Is+" "+f.Name)
		case f.Was == "":
			parts = append(parts, "+ "+f.Name+" "+f.Is)
		case f.Is == "":
			parts = append(parts, "- "+f.Name+" "+f.Was)
		default:
			parts = append(parts, f.Name+" "+f.Was+" -> "+f.Is)
		}
	}
	return strings.Join(parts, ", ")
}
