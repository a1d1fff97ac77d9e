package config

// OriginDefault is the origin of a value that no source set.
const OriginDefault = "default"

// Effective is the value that a key has in the end.
type Effective struct {
	// Key is the full key.
	Key string
	// Value is the value after all rules of reading; secrets are masked.
	Value string
	// Origin says where it was set: [OriginDefault], file and line, an environment
	// variable, an option.
	Origin string
}

// Effective returns all keys of the blocks, in their order, with what they came
// to.
func (c *Config) Effective() []Effective {
	all := make([]Effective, 0, len(c.schema.leaves))
	for _, l := range c.schema.leaves {
		e := Effective{Key: l.key, Value: valueOf(l.fields[0].Interface(), "").String(), Origin: OriginDefault}
		if v, set := c.raw(l); set && v.kind != kindNull {
			e.Origin = v.origin
		}
		if Secret(l.key) && e.Value != "" {
			e.Value = masked
		}
		all = append(all, e)
	}
	return all
}
