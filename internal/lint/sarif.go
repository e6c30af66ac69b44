package lint

import (
	"io"
	"net/url"
	"path/filepath"
)

// The parts of SARIF 2.1.0 that a report needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string      `json:"id"`
		ShortDescription sarifText   `json:"shortDescription"`
		FullDescription  sarifText   `json:"fullDescription"`
		Help             sarifText   `json:"help"`
		Configuration    sarifConfig `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID     string          `json:"ruleId"`
		RuleIndex  int             `json:"ruleIndex"`
		Kind       string          `json:"kind,omitempty"`
		Level      string          `json:"level"`
		Message    sarifText       `json:"message"`
		Locations  []sarifLocation `json:"locations"`
		Properties *Figures        `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// WriteSARIF writes the findings of all reports as one SARIF log, for tools that show findings beside code; with limits also what
// each limit allows, as results that are no faults, with figures as their properties.
func WriteSARIF(w io.Writer, version string, reports []Report, limits bool) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "limitgate", Version: version}}, Results: []sarifResult{}}
	index, rules := map[string]int{}, Rules()
	if limits {
		rules = append(rules, allows())
	}
	for i, r := range rules {
		index[r.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: r.ID, ShortDescription: sarifText{r.Title},
			FullDescription: sarifText{r.Why}, Help: sarifText{r.Mend}, Configuration: sarifConfig{level(r.Severity)}})
	}
	for _, report := range reports {
		for _, f := range report.Findings {
			run.Results = append(run.Results, sarifResult{RuleID: f.Rule, RuleIndex: index[f.Rule], Level: level(f.Severity),
				Message: sarifText{f.Message + ". " + f.Why + " " + f.Mend}, Locations: place(f.File, f.Line)})
		}
		for _, a := range report.Limits {
			if f := a.finding(); limits { // SARIF wants the level "none" for what is no fault
				run.Results = append(run.Results, sarifResult{RuleID: f.Rule, RuleIndex: index[f.Rule], Kind: "informational", Level: "none",
					Message: sarifText{f.Message}, Locations: place(f.File, f.Line), Properties: &a.Figures})
			}
		}
	}
	return encode(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func place(file string, line int) []sarifLocation {
	return []sarifLocation{{sarifPhysical{sarifArtifact{uri(file)}, sarifRegion{line}}}}
}

// level is a severity in SARIF's words.
func level(s Severity) string {
	if s == Info {
		return "note"
	}
	return string(s)
}

// uri is a file as a reference: relative as it was given, or with the scheme file.
func uri(name string) string {
	u := url.URL{Path: filepath.ToSlash(name)}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return u.String()
}
