package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// How a configuration became active.
const (
	Start    = "start"
	Reload   = "reload"
	Rollback = "rollback" // by an operator, who asked for an earlier one
	Return   = "return"   // by itself, from a rollback that made things worse
)

// Entry is a configuration that became active.
type Entry struct {
	Number  int       `json:"number"` // from 1
	Time    time.Time `json:"time"`
	How     string    `json:"how"`
	From    int       `json:"from,omitempty"`    // the number of the entry that it is again, of Rollback and Return
	Why     string    `json:"why,omitempty"`     // of a Return: what had become worse
	Changes []string  `json:"changes,omitempty"` // a line for each limit that differs from what was active before
	Path    string    `json:"path"`              // of the first file
	Globals string    `json:"globals,omitempty"` // directives of the command line
	Files   []File    `json:"files"`             // as they were read, in that order
}

// File is one that was read.
type File struct {
	Name string `json:"name"`
	Text []byte `json:"text"`
}

// Refusal is a configuration that could not become active.
type Refusal struct {
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	How    string    `json:"how"`
	Why    string    `json:"why"`
}

// Same reports whether two entries are one configuration.
func (e *Entry) Same(other *Entry) bool {
	if e.Path != other.Path || e.Globals != other.Globals || len(e.Files) != len(other.Files) {
		return false
	}
	for i, f := range e.Files {
		if f.Name != other.Files[i].Name || !bytes.Equal(f.Text, other.Files[i].Text) {
			return false
		}
	}
	return true
}

// magic begins each file, with the version of its format behind it.
const magic = "limitgate-history 1 "

// errForeign is of a file that is none of a history, or of another version.
var errForeign = errors.New("it does not begin as a file of this history does")

// encode writes v with its checksum before it.
func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return append([]byte(magic+hex.EncodeToString(sum[:])+"\n"), body...), nil
}

// decode reads what encode wrote.
func decode(text []byte, v any) error {
	line, body, found := bytes.Cut(text, []byte("\n"))
	want, ours := strings.CutPrefix(string(line), magic)
	if !found || !ours {
		return errForeign
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != want {
		return errors.New("its checksum does not fit: it was cut short or changed")
	}
	return json.Unmarshal(body, v)
}

// decodeEntry reads an entry that can be run.
func decodeEntry(text []byte) (*Entry, error) {
	e := new(Entry)
	if err := decode(text, e); err != nil {
		return nil, err
	}
	if e.Number < 1 || len(e.Files) == 0 {
		return nil, fmt.Errorf("number %d with %d files is no configuration", e.Number, len(e.Files))
	}
	return e, nil
}
