package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// settings are the flags of a command as they may also be set by environment
// variables and by a YAML file: a flag --some-name, the variable
// TAMARACK_SOME_NAME and the key some-name are the same setting. A flag beats
// a variable, a variable beats the file, and the file beats the default.
type settings struct {
	flags  *pflag.FlagSet
	names  []string // in the order of their declaration
	origin map[string]string
}

const envPrefix = "TAMARACK_"

func envName(setting string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// settle fills every setting that no flag has set. file may be "".
func (s *settings) settle(file string, env func(string) (string, bool)) error {
	s.origin = map[string]string{}
	values, err := readFile(file)
	if err != nil {
		return err
	}
	for _, name := range s.names {
		flag := s.flags.Lookup(name)
		fromFile, inFile := values[name]
		delete(values, name)
		fromEnv, inEnv := env(envName(name))
		var value, origin string
		switch {
		case flag.Changed:
			s.origin[name] = "flag"
			continue
		case inEnv:
			value, origin = fromEnv, envName(name)
		case inFile:
			value, origin = fromFile, file
		default:
			continue
		}
		s.origin[name] = origin
		if err := flag.Value.Set(value); err != nil {
			return usage("%s: %s is %q: %v", origin, name, value, err)
		}
	}
	if len(values) > 0 {
		unknown := make([]string, 0, len(values))
		for name := range values {
			unknown = append(unknown, name)
		}
		sort.Strings(unknown)
		return usage("%s: there is no setting %q%s", file, unknown[0], s.similar(unknown[0]))
	}
	return nil
}

// similar suggests a setting that may have been meant.
func (s *settings) similar(name string) string {
	plain := strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
	for _, n := range s.names {
		if n == plain || strings.HasPrefix(n, plain) || strings.HasSuffix(n, plain) {
			return fmt.Sprintf("; did you mean %q?", n)
		}
	}
	return "; the settings are: " + strings.Join(s.names, ", ")
}

// readFile reads a YAML file of settings, every value as text.
func readFile(file string) (map[string]string, error) {
	values := map[string]string{}
	if file == "" {
		return values, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(raw, &tree); err != nil {
		return nil, usage("%s is no YAML of settings: %v", file, err)
	}
	for name, v := range tree {
		text, err := asText(v)
		if err != nil {
			return nil, usage("%s: %s: %v", file, name, err)
		}
		values[name] = text
	}
	return values, nil
}

func asText(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			text, err := asText(e)
			if err != nil {
				return "", err
			}
			parts[i] = text
		}
		return strings.Join(parts, ","), nil
	case map[string]any:
		return "", errors.New("a setting is a word, a number or a list, not a map")
	}
	return fmt.Sprint(v), nil
}

// print writes all settings as a YAML file that gives the same again, each with
// what it means and where its value came from.
func (s *settings) print(w io.Writer) {
	for i, name := range s.names {
		if i > 0 {
			fmt.Fprintln(w)
		}
		flag := s.flags.Lookup(name)
		origin := s.origin[name]
		if origin == "" {
			origin = "default"
		}
		fmt.Fprintf(w, "# %s\n# from: %s; flag: --%s; variable: %s\n", flag.Usage, origin, name, envName(name))
		var value any = plain(flag.Value.String())
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = list.GetSlice()
		}
		text, _ := yaml.Marshal(map[string]any{name: value})
		fmt.Fprint(w, string(text))
	}
}

// plain keeps numbers and switches without quotes.
func plain(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if b, err := strconv.ParseBool(text); err == nil {
		return b
	}
	return text
}

// bytesValue is a size in bytes, as 1048576, 1MiB, 512KiB or 2GiB.
type bytesValue int64

var byteUnits = []struct {
	name string
	size int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}}

// Set reads a size.
func (b *bytesValue) Set(text string) error {
	number, size := text, int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, size = rest, u.size
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n > 0 && n*size/size != n {
		return fmt.Errorf("give a size as a number of bytes, or with KiB, MiB or GiB behind it")
	}
	*b = bytesValue(n * size)
	return nil
}

// String prints a size with the largest unit that leaves it whole.
func (b *bytesValue) String() string {
	for i := 3; i >= 0; i-- {
		if u := byteUnits[i]; *b != 0 && int64(*b)%u.size == 0 {
			return strconv.FormatInt(int64(*b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Type is the word for such a value in help texts.
func (b *bytesValue) Type() string { return "size" }
