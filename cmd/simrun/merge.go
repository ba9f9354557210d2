package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
)

func mergeCommand() *cobra.Command {
	var out outputs
	c := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Adds up the reports of the shards of one campaign.",
		Long: `Adds up the reports of the shards of one campaign. Reports of different commits,
--plans or planted bugs are refused, and two that ran the same seed; shards of which
there is no report are named.`,
		Args: someFiles("the files that run --json wrote"),
		RunE: func(_ *cobra.Command, files []string) error {
			var reports []*sim.Report
			var parts []filedPart
			for _, f := range files {
				r, err := readReport(f)
				if err != nil {
					return err
				}
				reports = append(reports, r)
				for i := range r.Parts {
					parts = append(parts, filedPart{&r.Parts[i], f})
				}
			}
			if err := oneCampaign(parts); err != nil {
				return err
			}
			merged := sim.Merge(reports)
			err := out.finish(merged)
			if missing := missingShards(merged.Parts); len(missing) > 0 {
				fmt.Printf("\nshards missing: %s\n", strings.Join(missing, ", "))
			}
			return err
		},
	}
	out.flags(c)
	return c
}

func readReport(file string) (*sim.Report, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &sim.Report{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s is no report: %w", file, err)
	}
	if len(r.Parts) == 0 {
		return nil, fmt.Errorf("%s is no report: it does not say what was run", file)
	}
	return r, nil
}

// filedPart is a part of a campaign, and the file that tells of it.
type filedPart struct {
	*sim.Part
	file string
}

// oneCampaign says in what parts do not belong together: what they were run with,
// or seeds that would be counted twice.
func oneCampaign(parts []filedPart) error {
	for i := range parts {
		p := &parts[i]
		first := &parts[0]
		for _, with := range []struct{ what, one, other string }{
			{"commit", first.Code, p.Code},
			{"planted bug (--bug)", cmp.Or(first.Bug, "none"), cmp.Or(p.Bug, "none")},
			{"kind of plans (--plans)", cmp.Or(first.Plans, "those of run"), cmp.Or(p.Plans, "those of run")},
		} {
			if with.one != with.other {
				return fmt.Errorf("these reports are not of one campaign: the %s of %s is %s, and that of %s is %s",
					with.what, first.file, with.one, p.file, with.other)
			}
		}
		for k := range parts[:i] {
			if seed, twice := p.Both(parts[k].Part); twice {
				return fmt.Errorf("%s (%s) and %s (%s) would be counted twice: both ran seed %d",
					parts[k].file, parts[k].Name, p.file, p.Name, seed)
			}
		}
	}
	return nil
}

// missingShards names the shards of which there is no part, as "2/8".
func missingShards(parts []sim.Part) (missing []string) {
	type campaign struct {
		from, to uint64
		shards   int
	}
	var campaigns []campaign
	have := map[campaign]map[int]bool{}
	for i := range parts {
		p := &parts[i]
		c := campaign{p.From, p.To, p.Shards}
		if have[c] == nil {
			campaigns, have[c] = append(campaigns, c), map[int]bool{}
		}
		have[c][p.Shard] = true
	}
	for _, c := range campaigns {
		for shard := 1; c.shards > 1 && shard <= c.shards; shard++ {
			if !have[c][shard] {
				missing = append(missing, fmt.Sprintf("%d/%d", shard, c.shards))
			}
		}
	}
	return missing
}
