// The page in headless Chromium: what a person would see, as one JSON object.
// page.mjs MODULES URL SCREENSHOT
import { createRequire } from "node:module";

const [modules, url, screenshot] = process.argv.slice(2);
const require = createRequire(modules + "/");
const { default: chromium } = await import(require.resolve("@sparticuz/chromium"));
const { default: puppeteer } = await import(require.resolve("puppeteer-core"));

const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
  defaultViewport: { width: 900, height: 980 },
});
const out = { problems: [] };
try {
  const page = await browser.newPage();
  const note = (text) => out.problems.push(text);
  page.on("console", (m) => m.type() === "error" && !m.location().url?.includes("/invocations") && note(m.text()));
  page.on("pageerror", (e) => note(String(e)));
  page.on("request", (r) => !r.url().startsWith(new URL(url).origin) && !r.url().startsWith("data:") && note("asks " + r.url()));
  await page.goto(url);
  out.address = page.url();

  const last = (selector) => page.evaluate((s) => document.querySelector("article:last-of-type " + s)?.textContent ?? "", selector);
  const ended = () => page.waitForFunction(() => document.querySelector("article:last-of-type")?.classList.contains("ended") && !document.body.classList.contains("busy"), { timeout: 30000 });
  const say = async (text) => {
    await page.type("#prompt", text);
    await page.keyboard.press("Enter");
  };

  // Text as it grows.
  await say("count");
  out.grows = [];
  for (let i = 0; i < 200; i++) {
    const text = await last(".text");
    if (text && text !== out.grows.at(-1)) out.grows.push(text);
    if (await page.evaluate(() => document.querySelector("article:last-of-type")?.classList.contains("ended"))) break;
    await new Promise((r) => setTimeout(r, 10));
  }
  await ended();
  out.counted = await last(".text");
  out.countedUsage = await last(".usage");

  // Two tools in one message, Japanese, tokens, the events.
  await say("both 両方");
  await ended();
  out.cards = await page.$$eval("article:last-of-type .tool", (cards) =>
    cards.map((c) => ({ head: c.querySelector("h2").textContent, input: c.querySelector(".input").textContent, result: c.querySelector(".result").textContent })),
  );
  out.texts = await page.$$eval("article:last-of-type .text", (all) => all.map((e) => e.textContent));
  out.bold = await page.$$eval("article:last-of-type b", (all) => all.length);
  out.usage = await last(".usage");
  out.eventsHidden = await page.$eval("article:last-of-type .events", (e) => getComputedStyle(e).display);
  await page.screenshot({ path: screenshot });
  await page.click("#raw");
  out.eventsShown = await page.$eval("article:last-of-type .events", (e) => getComputedStyle(e).display);
  out.events = await page.$$eval("article:last-of-type .events li", (all) => all.length);
  await page.click("#raw");

  // An error of the agent, and one of the credential.
  await say("fail");
  await ended();
  out.failed = await last(".error");
  // Stopping leaves what was said.
  await say("endless");
  await page.waitForFunction(() => document.querySelector("article:last-of-type .text")?.textContent.length > 2, { timeout: 30000 });
  await page.click("#stop");
  await ended();
  out.stopped = await last(".error");
  await page.click("#settings summary");
  await page.evaluate(() => {
    const t = document.getElementById("token");
    t.value = "wrong";
    t.dispatchEvent(new Event("input"));
  });
  await say("hello");
  await ended();
  out.refused = await last(".error");
} catch (err) {
  out.problems.push(String(err.stack ?? err));
} finally {
  await browser.close();
}
console.log(JSON.stringify(out));
