import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { build, serve } from "vitepress";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Browser, type Tab } from "@leasehold/test-kit/browser/browser";

const site = fileURLToPath(new URL("..", import.meta.url));
const dist = new URL("../dist/", import.meta.url);
/** About 8,000 tokens, at four characters each. */
const SMALL_CHARACTERS = 32_000;
/** The build takes ten seconds on an idle machine. */
const BUILD_LIMIT_MS = 1_200_000;

// The build fails for a dead link.
beforeAll(async () => await build(site), BUILD_LIMIT_MS);

describe("the files for language models", () => {
  it("name each page, and have its text", async () => {
    const [list, full, small] = await Promise.all(
      ["llms.txt", "llms-full.txt", "llms-small.txt"].map(async (name) => await readFile(new URL(name, dist), "utf8")),
    );
    expect(list).toContain("- [Concepts in ten minutes](/concepts.md)");
    expect(full).toContain("# Policies of schedules");
    expect(small).toContain("# Which call do I need?");
    expect(small?.length).toBeLessThan(SMALL_CHARACTERS);
    const listed = [...(list ?? "").matchAll(/\(\/(.+?\.md)\)/g)].map(([, path = ""]) => path);
    for (const path of listed) expect((await readFile(new URL(path, dist), "utf8")).length, path).toBeGreaterThan(50);
  });

  it("come with pages that load nothing from elsewhere", async () => {
    for (const name of (await readdir(dist)).filter((each) => each.endsWith(".html"))) {
      const html = await readFile(new URL(name, dist), "utf8");
      const loaded = [...html.matchAll(/<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"/g)].map(([, url]) => url);
      expect(loaded, name).toEqual([]);
    }
  });
});

describe("the playground in a browser", () => {
  let address = "";
  let stop: () => void = () => undefined;
  let browser: Browser;

  beforeAll(async () => {
    const port = await freePort();
    const server = await serve({ root: site, port });
    stop = () => void server.server?.close();
    address = `http://localhost:${port}/playground`;
    browser = await Browser.start();
  });
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    stop();
  });

  async function open(hash = ""): Promise<Tab> {
    const tab = await browser.page();
    await tab.page.goto(address + hash);
    await tab.page.waitForSelector(".playground");
    await tab.page.click('[data-speed="20"]');
    await tab.until('document.querySelector("[data-leads=true]") !== null');
    return tab;
  }

  const LEADER = '[data-leads="true"]';
  const STANDBY = '[data-leads="false"][data-lane]';

  it.each([
    { selector: `${LEADER} [data-act=kill]`, says: "is killed" },
    { selector: `${LEADER} [data-act=freeze]`, says: "is frozen" },
    { selector: `${LEADER} [data-act=block]`, says: "blocks its event loop for 7.5 s" },
    { selector: `${LEADER} [data-act=cut]`, says: "is cut off from the store" },
    { selector: `${LEADER} [data-act=lose]`, says: "will lose its next reply" },
    { selector: `${LEADER} [data-act=clock]`, says: "has its wall clock set an hour ahead" },
    { selector: `${LEADER} [data-act=stop]`, says: "is told to stop" },
    { selector: `${STANDBY} [data-act=transfer]`, says: "asks for a transfer to worker-" },
    { selector: "[data-act=break]", says: "breaks the present term" },
    { selector: "[data-act=store]", says: "The store is down" },
  ])("says '$says' after its button, and goes on with one leader", async ({ selector, says }) => {
    await using tab = await open();
    await tab.page.click(selector);
    await tab.until(
      `[...document.querySelectorAll(".log li")].some((line) => line.textContent.includes(${JSON.stringify(says)}))`,
    );
    if (selector.includes("store")) await tab.page.click("[data-act=store]");
    const nowMs = Number(await tab.value('document.querySelector(".playground").dataset.nowMs'));
    await tab.until(`Number(document.querySelector(".playground").dataset.nowMs) > ${nowMs + 15_000}`);
    await tab.until(`document.querySelectorAll('${LEADER}').length === 1`);
    expect(await tab.text('[data-counter="two"]')).toBe("0.0 s");
  });

  it("counts no time with two leaders in a thousand random clicks, and some if a flag is trusted", async () => {
    await using tab = await open();
    await tab.value(`(async () => {
      for (let clicks = 0; clicks < 1000; clicks += 1) {
        const buttons = [...document.querySelectorAll(".lane button")];
        buttons[Math.floor(Math.random() * buttons.length)].click();
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
    })()`);
    expect(await tab.text('[data-counter="two"]')).toBe("0.0 s");
    await tab.page.click("[data-act=flag]");
    await tab.until(`document.querySelector('[data-counter="two"]').textContent !== "0.0 s"`);
  });

  it("repeats the situation of a link", async () => {
    await using tab = await open("#l=5000&r=1500&p=1000&c=4000:freeze:3,4000:kill:1");
    await tab.until('[...document.querySelectorAll(".log li")].some((line) => line.textContent.includes("worker-2 is killed"))');
    expect(await tab.value("location.hash")).toContain("4000:freeze:3");
  });
});
