package demo

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestFindArithmetic(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		// The seed's expressions, and others in Japanese.
		"3と5を足して":                            "3 + 5",
		"3に5を足してください":                        "3 + 5",
		"３と５を足して":                            "3 + 5",
		"三と五を足して":                            "3 + 5",
		"二十三に十二を足して":                         "23 + 12",
		"3足す5は？":                             "3 + 5",
		"3たす5ひく2は?":                          "3 + 5 - 2",
		"3プラス5":                              "3 + 5",
		"10から3を引いて":                          "10 - 3",
		"3を10から引いて":                          "10 - 3",
		"3に4をかけて":                            "3 * 4",
		"3掛ける4は":                             "3 * 4",
		"12を4で割ると？":                          "12 / 4",
		"4で12を割って":                           "12 / 4",
		"3と5を足して2を掛けて":                       "(3 + 5) * 2",
		"3と5の和は？":                            "3 + 5",
		"3と10の差は？":                           "10 - 3",
		"1と2と3を合計して":                         "1 + 2 + 3",
		"2の10乗は":                             "2 ^ 10",
		"50の10%は？":                           "50 * 10 / 100",
		"（2＋3）×4":                            "(2 + 3) * 4",
		"(2+3)*4は？":                          "(2 + 3) * 4",
		"1,200円に8を掛けて":                       "1200 * 8",
		"5個のりんごを2人で割ると":                      "5 / 2",
		"12 ÷ 4 を計算してください":                   "12 / 4",
		"7の3倍":                               "7 * 3",
		"what is 12*7?":                      "12 * 7",
		"(2+3)*4":                            "(2 + 3) * 4",
		"2(3+4)":                             "2 * (3 + 4)",
		"What's 3 plus 5?":                   "3 + 5",
		"twelve times seven":                 "12 * 7",
		"twenty-one minus 4":                 "21 - 4",
		"10 divided by 4":                    "10 / 4",
		"6 multiplied by 7":                  "6 * 7",
		"add 3 and 5":                        "3 + 5",
		"Add 3, 4 and 5.":                    "3 + 4 + 5",
		"Please add 3 to 5":                  "3 + 5",
		"sum of 3 and 5":                     "3 + 5",
		"subtract 3 from 10":                 "10 - 3",
		"multiply 6 by 7":                    "6 * 7",
		"divide 10 by 4":                     "10 / 4",
		"divide 4 into 12":                   "12 / 4",
		"product of 2 and 8":                 "2 * 8",
		"15% of 80":                          "15 / 100 * 80",
		"5 squared":                          "5 ^ 2",
		"2 to the power of 8":                "2 ^ 8",
		"2 ** 8":                             "2 ^ 8",
		"2^3^2":                              "2 ^ 3 ^ 2",
		"-2^2":                               "0 - 2 ^ 2",
		"(-2)^2":                             "(-2) ^ 2",
		"-3 + 5":                             "-3 + 5",
		"4 - -3":                             "4 - (-3)",
		"2 * -(3+4)":                         "2 * (0 - (3 + 4))",
		"1,234 + 1":                          "1234 + 1",
		".5 * 4":                             "0.5 * 4",
		"1.5+2.25":                           "1.5 + 2.25",
		"3 x 4":                              "3 * 4",
		"2x3x4":                              "2 * 3 * 4",
		"$5 + $3":                            "5 + 3",
		"8 - (3 - 2)":                        "8 - (3 - 2)",
		"8 / (4 / 2)":                        "8 / (4 / 2)",
		"20-5-3":                             "20 - 5 - 3",
		"8/4/2":                              "8 / 4 / 2",
		"(8 - 3) - 2":                        "8 - 3 - 2",
		"What is 3 + 5 = ?":                  "3 + 5",
		"add 3 and 5 and then multiply by 2": "(3 + 5) * 2",
		"add 3 and 5, then subtract 2":       "3 + 5 - 2",
		"add 3 and 5 and multiply by 2":      "(3 + 5) * 2",
		"difference between 3 and 10":        "10 - 3",
		"two hundred and five plus one":      "205 + 1",
		"Lunch is 7 + 3 euros for each of 12 people.": "7 + 3",

		// Texts without an expression, or with an ambiguous one.
		"":                         "",
		"hello":                    "",
		"42":                       "",
		"-5":                       "",
		"2026-11-20":               "",
		"call 03-1234-5678":        "",
		"11/20/2026":               "",
		"sqrt(16) + 2":             "",
		"5! + 3 * 2":               "",
		"version 1.2.3 of gpt-4":   "",
		"I have 3 cats and 5 dogs": "",
		"add milk to the list":     "",
		"divide 4":                 "",
		"それは役割です":                  "",
		"3番を引用して":                  "",
		"3 +":                      "",
		"((3 + 5":                  "3 + 5",
		"10 % 3 + 1":               "",
		"read note-1.txt":          "",
		strings.Repeat("1+", 2000): "",
		strings.Repeat("(", 1000):  "",
		"1 + 2\xff":                "",
	} {
		got := ""
		if e := findArithmetic(said); e != nil {
			got = e.String()
		}
		if got != want {
			t.Errorf("findArithmetic(%q) = %q, want %q", said, got, want)
		}
	}
}

func TestWhatIsFoundIsSaidInThePersonsLanguage(t *testing.T) {
	t.Parallel()
	for said, want := range map[string][4]string{
		"3と5を足して":   {"3と5を足し算します。", "3と5を足した結果", "I will work out 3 + 5.", "The result of 3 + 5"},
		"10から3を引いて": {"10から3を引き算します。", "10から3を引いた結果", "I will work out 10 - 3.", "The result of 10 - 3"},
		"3*4":       {"3と4を掛け算します。", "3に4を掛けた結果", "I will work out 3 * 4.", "The result of 3 * 4"},
		"8/2":       {"8を2で割り算します。", "8を2で割った結果", "I will work out 8 / 2.", "The result of 8 / 2"},
		"2^8":       {"2 ^ 8 を計算します。", "2 ^ 8 の結果", "I will work out 2 ^ 8.", "The result of 2 ^ 8"},
		"1+2+3":     {"1 + 2 + 3 を計算します。", "1 + 2 + 3 の結果", "I will work out 1 + 2 + 3.", "The result of 1 + 2 + 3"},
	} {
		e := findArithmetic(said)
		if got := [4]string{e.plan("ja"), e.phrase("ja"), e.plan("en"), e.phrase("en")}; got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
}

func TestNextOperationFollowsTheResults(t *testing.T) {
	t.Parallel()
	e := findArithmetic("(2+3)*(10-4)")
	var done, asked []string
	for _, value := range []string{"5", "6", "30"} {
		sign, a, b, ok := e.next(done)
		if !ok {
			t.Fatalf("nothing to do after %v", done)
		}
		asked = append(asked, a+string(sign)+b)
		done = append(done, value)
	}
	if got := strings.Join(asked, " "); got != "2+3 10-4 5*6" {
		t.Errorf("operations: %s", got)
	}
	if _, _, _, ok := e.next(done); ok {
		t.Error("there is more to do after the last operation")
	}
}

// Writing an expression into a text and finding it gives the same expression.
func TestExpressionsSurviveBeingWrittenOut(t *testing.T) {
	t.Parallel()
	var gen func(depth int) *rapid.Generator[*expression]
	gen = func(depth int) *rapid.Generator[*expression] {
		return rapid.Custom(func(t *rapid.T) *expression {
			if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
				return &expression{number: rapid.StringMatching(`[1-9][0-9]{0,3}(\.[0-9]{1,2})?`).Draw(t, "number")}
			}
			return &expression{
				sign: rapid.SampledFrom([]byte("+-*/^")).Draw(t, "sign"),
				left: gen(depth-1).Draw(t, "left"), right: gen(depth-1).Draw(t, "right"),
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		e := gen(3).Draw(t, "expression")
		if e.left == nil {
			return
		}
		s := e.String()
		if len(token.FindAllString(strings.ReplaceAll(s, " ", ""), -1)) > maxTokens {
			return
		}
		again := findArithmetic(s)
		if again == nil || again.String() != s {
			t.Fatalf("%s was found as %v", s, again)
		}
	})
}

func FuzzFindArithmetic(f *testing.F) {
	for _, s := range []string{"3と5を足して", "what is (2+3)*4?", "add one and two then divide by 3", "二千三百", "((((1+", "1+2^-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		begin := time.Now()
		e := findArithmetic(s)
		if d := time.Since(begin); d > time.Minute {
			t.Fatalf("took %v", d)
		}
		if e == nil {
			return
		}
		if e.left == nil {
			t.Fatalf("%q gave the lone number %q", s, e.number)
		}
		if out := e.String() + e.phrase("ja") + e.plan("en"); !utf8.ValidString(out) {
			t.Fatalf("%q gave %q", s, out)
		}
		if _, _, _, ok := e.next(nil); !ok {
			t.Fatalf("%q has no first operation", s)
		}
	})
}
