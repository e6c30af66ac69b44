package conf

func mainSpecs() []Spec { return nil }
