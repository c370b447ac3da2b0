package skill_test

import (
	"context"
	"fmt"

	"github.com/braidrun/braid"
	"github.com/braidrun/braid/model/demo"
	"github.com/braidrun/braid/skill"
)

// A folder of skills, one of which is written with a slip.
func Example() {
	skills, problems := skill.Load("testdata/skills")
	for _, p := range problems {
		fmt.Println(p)
	}
	for _, s := range skills.Skills() {
		fmt.Println(s.Name, "-", s.Description)
	}
	model, err := demo.New(demo.Replies("skills",
		[]demo.Piece{demo.Call(skill.ToolName, `{"name":"haiku"}`)}, []demo.Piece{demo.Say("${result}")}))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := braid.New("poet", model, braid.Instructions("You write."), braid.From(skills)).Run(context.Background(), "A haiku, please.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output:
	// the skill "letter": its name is "letters" and its folder is another (give both the same name)
	// haiku - Writes haiku. Use it when somebody wants a short poem.
	// Write three lines of 5, 7 and 5 syllables.
}
