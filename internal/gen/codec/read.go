package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// pkg is what the generator knows of package event. What is exported is for the template.
type pkg struct {
	// Durable, Live and Blocks are in the order of their files and declarations, and Bodies are
	// the durable ones and then the live ones.
	Durable, Live, Blocks, Bodies []*object
	// Parts are the structs inside bodies and blocks, in the order in which they are met.
	Parts []*object

	// words are the named string types.
	words map[string]bool
	// structs are all structs, by name.
	structs map[string]*object
}

// object is a struct that is written as a JSON object.
type object struct {
	Name string
	// Kind is its name in JSON; "" for a part.
	Kind string
	// Words are those of its row in the table of bodies.
	Words  []string
	Fields []field
}

type field struct {
	Name string
	// Key is "" for a field that has none of its own.
	Key string
	// Opt says that a zero value is left out.
	Opt bool
	// Part is the struct that the field is, points to or lists; nil for a field of a form.
	Part *object

	// typ is the type as the source writes it.
	typ      string
	redacted string
	form     form
}

// read parses the package without its tests and without the generated file. It looks at the syntax
// alone: the package does not compile where the generated file is missing or old.
func read(folder string) (*pkg, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &pkg{words: map[string]bool{}, structs: map[string]*object{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == output {
			continue
		}
		if err := p.readFile(file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	p.Bodies = slices.Concat(p.Durable, p.Live)
	for _, o := range slices.Concat(p.Bodies, p.Blocks) {
		p.resolve(o)
	}
	return p, nil
}

func (p *pkg) readFile(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			s := spec.(*ast.TypeSpec)
			switch typ := s.Type.(type) {
			case *ast.Ident:
				p.words[s.Name.Name] = typ.Name == "string"
			case *ast.StructType:
				if err := p.readStruct(s.Name.Name, group.Doc, typ); err != nil {
					return fmt.Errorf("%s: %w", s.Name.Name, err)
				}
			}
		}
	}
	return nil
}

func (p *pkg) readStruct(name string, doc *ast.CommentGroup, s *ast.StructType) error {
	o := &object{Name: name}
	p.structs[name] = o
	for _, f := range s.Fields.List {
		if err := o.readField(f); err != nil {
			return err
		}
	}
	if doc == nil {
		return nil
	}
	for _, line := range doc.List {
		if err := p.declare(o, line.Text); err != nil {
			return err
		}
	}
	return nil
}

func (o *object) readField(f *ast.Field) error {
	var tag reflect.StructTag
	if f.Tag != nil {
		text, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return err
		}
		tag = reflect.StructTag(text)
	}
	key, option, _ := strings.Cut(tag.Get("json"), ",")
	if key == "-" {
		return nil
	}
	typ := types.ExprString(f.Type)
	name := typ // of an embedded field
	for _, n := range f.Names {
		name = n.Name
	}
	if len(f.Names) != 1 {
		key = "" // not one of its own
	}
	if option == "omitzero" && strings.HasPrefix(typ, "[]") {
		typ += ",omitzero" // an empty list is not the same as nil
	}
	o.Fields = append(o.Fields, field{Name: name, Key: key, Opt: option != "", typ: typ, redacted: tag.Get("redacted")})
	return nil
}

// declare reads a line of a struct's comment, which may be a directive.
func (p *pkg) declare(o *object, line string) error {
	directive, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	list := &p.Durable
	switch {
	case directive == "//event:block":
		list = &p.Blocks
	case directive != "//event:body":
		return nil
	case slices.Contains(words, "live"):
		list = &p.Live
	}
	if len(words) == 0 || list == &p.Blocks && len(words) > 1 {
		return fmt.Errorf("%q: want a kind, and words for a body alone", line)
	}
	o.Kind = words[0]
	for _, word := range words[1:] {
		switch word {
		case "live", "final", "erased":
			o.Words = append(o.Words, strings.ToUpper(word[:1])+word[1:])
		default:
			return fmt.Errorf("%q: unknown word %q", line, word)
		}
	}
	*list = append(*list, o)
	return nil
}

// resolve gives the fields of o their forms, or the structs that they are made of.
func (p *pkg) resolve(o *object) {
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.form = forms[f.typ]; p.words[f.typ] {
			f.form = wordForm(f.typ)
		}
		if f.form != (form{}) {
			continue
		}
		f.Part = p.structs[strings.TrimPrefix(strings.TrimPrefix(f.typ, "[]"), "*")]
		if f.Part != nil && !slices.Contains(p.Parts, f.Part) {
			p.Parts = append(p.Parts, f.Part)
			p.resolve(f.Part)
		}
	}
}

// Method is the name of the encoder's and decoder's method for o.
func (o *object) Method() string { return strings.ToLower(o.Name[:1]) + o.Name[1:] }

// HoldsBlocks reports whether o has blocks inside. In a block they count as one level more.
func (o *object) HoldsBlocks() bool {
	return slices.ContainsFunc(o.Fields, func(f field) bool { return f.typ == "[]Block" })
}

// Hidden lists the fields that a redaction changes.
func (o *object) Hidden() []field {
	return slices.DeleteFunc(slices.Clone(o.Fields), func(f field) bool { return !f.isHidden() })
}

func (f field) isHidden() bool { return f.redacted != "" && f.redacted != "keep" }

// IsList reports whether the field is a list, and IsPointer whether it is a pointer.
func (f field) IsList() bool    { return strings.HasPrefix(f.typ, "[]") }
func (f field) IsPointer() bool { return strings.HasPrefix(f.typ, "*") }
