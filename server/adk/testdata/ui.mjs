// ADK's developer UI in headless Chromium: what a person would see, as one JSON object.
// ui.mjs MODULES URL AUTHORIZATION SCREENSHOT
import { createRequire } from "node:module";

const [modules, url, authorization, screenshot] = process.argv.slice(2);
const require = createRequire(modules + "/");
const { default: chromium } = await import(require.resolve("@sparticuz/chromium"));
const { default: puppeteer } = await import(require.resolve("puppeteer-core"));

const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
  defaultViewport: { width: 1300, height: 1000 },
});
const out = { problems: [], asked: [] };
try {
  const page = await browser.newPage();
  await page.setExtraHTTPHeaders({ Authorization: authorization });
  // The UI throws the 404 of a graph that is not there; Angular's class for it has no name of its own.
  page.on("pageerror", (e) => String(e.stack).includes("/polyfills-") && e.name.length < 3 || out.problems.push(String(e)));
  page.on("response", (r) => {
    const path = new URL(r.url()).pathname;
    if (path.startsWith("/adk/")) out.asked.push(`${r.request().method()} ${path} ${r.status()}`);
  });
  const shows = (text) =>
    page.waitForFunction((t) => document.body.innerText.includes(t), { timeout: 20000 }, text).catch(() => out.problems.push("never shows " + text));
  const say = async (text) => {
    await page.waitForSelector("textarea", { timeout: 20000 });
    await page.type("textarea", text);
    await page.keyboard.press("Enter");
  };
  await page.goto(url + "/dev-ui/?app=default&userId=user", { waitUntil: "networkidle2" });
  await say("hello there");
  await shows("you said hello there");
  await say("use clock keep");
  await shows("it is kept");
  await shows("clock");
  await page.screenshot({ path: screenshot });
  out.text = await page.evaluate(() => document.body.innerText);
  // A session is there again when the page is loaded again, and goes on.
  await page.reload({ waitUntil: "networkidle2" });
  await shows("you said hello there");
  await say("and again");
  await shows("you said and again");
  out.doubled = await page.evaluate(() => (document.body.innerText.match(/you said and again/g) ?? []).length);
} catch (e) {
  out.problems.push(String(e));
} finally {
  await browser.close();
}
console.log(JSON.stringify(out));
process.exit(0);
