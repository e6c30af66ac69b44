package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// mark begins the first line of a file of states, with the version; behind it stands the CRC-32C of all that follows the line.
const mark = "limitgate rollouts 1 "

var errMark = errors.New("it does not begin as a file of rollouts of this version does")

func sum(text []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// Encode writes states as Decode reads them.
func Encode(list []State) ([]byte, error) {
	if list == nil {
		list = []State{}
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the state of rollouts: %w", err)
	}
	text = append(text, '\n')
	return append([]byte(mark+sum(text)+"\n"), text...), nil
}

// Decode reads the states that a file holds. A file that was not written whole, or that somebody changed, is an error.
func Decode(file []byte) ([]State, error) {
	head, text, _ := bytes.Cut(file, []byte("\n"))
	is, found := bytes.CutPrefix(head, []byte(mark))
	switch {
	case !found:
		return nil, errMark
	case string(is) != sum(text):
		return nil, errors.New("its checksum is another: it was cut off or changed")
	}
	var list []State
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, s := range list {
		if err := s.check(); err != nil {
			return nil, err
		}
		if seen[s.Name] {
			return nil, fmt.Errorf("rollout %q stands in it twice", s.Name)
		}
		seen[s.Name] = true
	}
	return list, nil
}

// check says what no state that was written has.
func (s *State) check() error {
	switch {
	case s.Name == "":
		return errors.New("a rollout has no name")
	case !slices.Contains([]Phase{Running, Held, Aborted, Complete}, s.Phase):
		return fmt.Errorf("rollout %q is in no phase: %q", s.Name, s.Phase)
	case s.Step < -1 || s.Step >= len(s.Steps):
		return fmt.Errorf("rollout %q is at step %d of %d", s.Name, s.Step, len(s.Steps))
	case s.Step < 0 && s.Share != 0 || s.Step >= 0 && s.Share != s.Steps[s.Step]:
		return fmt.Errorf("rollout %q has %s at step %d", s.Name, s.Share, s.Step)
	}
	return nil
}
