import { glob, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { SeededRandom } from "@leasehold/core/testing";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { Browser, type Tab } from "@leasehold/test-kit/browser/browser";
import { build, serve } from "vitepress";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

const site = fileURLToPath(new URL("..", import.meta.url));
const dist = new URL("../dist/", import.meta.url);
/** About 8,000 tokens, at 3.5 bytes each. */
const SMALL_BYTES = 28_000;
/** The build takes ten seconds on an idle machine. */
const BUILD_LIMIT_MS = 1_200_000;

// The build fails for a dead link.
beforeAll(async () => await build(site), BUILD_LIMIT_MS);

/** Returns the HTML of each page, by its path on the site. */
async function builtPages(): Promise<ReadonlyMap<string, string>> {
  const names = await Array.fromAsync(glob("**/*.html", { cwd: fileURLToPath(dist) }));
  const texts = names.map(async (name) => await readFile(new URL(name, dist), "utf8"));
  return new Map((await Promise.all(texts)).map((html, at) => [`/${names[at]!.replace(/(?:index)?\.html$/, "")}`, html]));
}

describe("the files for language models", () => {
  it("name each page, and have its text", async () => {
    const [list, full, small] = await Promise.all(
      ["llms.txt", "llms-full.txt", "llms-small.txt"].map(async (name) => await readFile(new URL(name, dist), "utf8")),
    );
    expect(list).toContain("- [Concepts in ten minutes](/concepts.md)");
    expect(full).toContain("# Policies of schedules");
    expect(small).toContain("# Which call do I need?");
    expect(Buffer.byteLength(small ?? "")).toBeLessThan(SMALL_BYTES);
    const listed = [...(list ?? "").matchAll(/\(\/(.+?\.md)\)/g)].map(([, path = ""]) => path);
    for (const path of listed) expect((await readFile(new URL(path, dist), "utf8")).length, path).toBeGreaterThan(50);
  });

  it("come with pages that load nothing from elsewhere", async () => {
    for (const [path, html] of await builtPages()) {
      const loaded = [...html.matchAll(/<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"/g)].map(([, url]) => url);
      expect(loaded, path).toEqual([]);
    }
  });

  it("come with pages whose links lead to the headings that they name", async () => {
    const pages = await builtPages();
    const dead = [...pages].flatMap(([from, html]) =>
      [...html.matchAll(/ href="(\/[^"#]*)?#([^"]+)"/g)]
        .filter(([, path = from, anchor = ""]) => !pages.get(path)?.includes(` id="${decodeURIComponent(anchor)}"`))
        .map(([, path = "", anchor]) => `${from}: ${path}#${anchor}`),
    );
    expect(dead).toEqual([]);
  });

  it("come with pages that are each the next page of one other", async () => {
    const pages = await builtPages();
    const next = [...pages.values()].flatMap((html) => /pager-link next" href="([^"]+)"/.exec(html)?.[1] ?? []);
    expect(new Set(next).size).toBe(next.length);
    // The playground has the width of the window and leads to no page.
    expect([...pages.keys()].filter((path) => !next.includes(path))).toEqual(["/404", "/", "/recipes", "/start"]);
  });
});

/** Serves the built site, and opens it in a browser. */
async function open(): Promise<AsyncDisposable & { readonly url: string; readonly browser: Browser }> {
  const port = await freePort();
  const { server } = await serve({ root: site, port });
  const browser = await Browser.start();
  const close = async (): Promise<void> => {
    await browser[Symbol.asyncDispose]();
    server.close();
  };
  return { url: `http://localhost:${port}`, browser, [Symbol.asyncDispose]: close };
}

it(
  "shows each page on a phone without a scroll to the side, with each of its pictures",
  async () => {
    await using opened = await open();
    await using tab = await opened.browser.page();
    await tab.page.setViewport({ width: 360, height: 640 });
    const wrong: string[] = [];
    for (const path of (await builtPages()).keys()) {
      await tab.page.goto(`${opened.url}${path}`);
      const width = await tab.value("document.documentElement.scrollWidth");
      if (width !== 360) wrong.push(`${path} is ${String(width)} pixels wide`);
      const lost = await tab.value("[...document.images].filter((picture) => picture.naturalWidth === 0).length");
      if (lost !== 0) wrong.push(`${path} lacks ${String(lost)} pictures`);
    }
    expect(wrong).toEqual([]);
  },
  BUILD_LIMIT_MS,
);

describe("the tabs of stores in a browser", () => {
  const SHOWN = ".vp-code-group .active";
  let opened: Awaited<ReturnType<typeof open>>;
  let tab: Tab;

  beforeAll(async () => void (opened = await open()), BUILD_LIMIT_MS);
  afterAll(async () => await opened[Symbol.asyncDispose]());
  beforeEach(async () => void (tab = await opened.browser.page()));
  afterEach(async () => await tab[Symbol.asyncDispose]());

  const goTo = async (path: string): Promise<void> => {
    await tab.page.goto(`${opened.url}${path}`);
    // Vue sets it once the page answers.
    await tab.page.waitForFunction("document.querySelector('#app').__vue_app__");
  };
  const shown = async (): Promise<string> =>
    String(await tab.value(`[...document.querySelectorAll("${SHOWN} code")].map((code) => code.textContent).join("\\n")`));

  it("keep the reader's store on the page, on other pages, and after a reload", async () => {
    await goTo("/start");
    await tab.value(`document.querySelector('label[data-title="DynamoDB"]').click()`);
    expect(await shown()).toMatch(/@leasehold\/dynamodb[^]+new DynamoDBLeaseStore/);
    await tab.value(`document.querySelector('a[href="/recipes#fenced-writes"]').click()`);
    await tab.until(`document.querySelector("h1")?.textContent.startsWith("Recipes")`);
    expect(await shown()).toContain("TransactWriteCommand");
    await goTo("/start");
    expect(await shown()).toMatch(/@leasehold\/dynamodb[^]+new DynamoDBLeaseStore/);
  });

  it("show their first block if they lack the reader's store", async () => {
    await goTo("/start");
    await tab.value(`document.querySelector('label[data-title="Kubernetes"]').click()`);
    await goTo("/packages/sql/fenced-writes");
    expect(await shown()).toContain("pool.connect()");
  });

  it("are chosen by keyboard", async () => {
    await goTo("/start");
    await tab.page.focus(".vp-code-group input");
    await tab.page.keyboard.press("ArrowRight");
    expect(await shown()).toMatch(/mysql2[^]+mysql: /);
    await goTo("/start");
    expect(await shown()).toContain("mysql2");
  });

  it("show the kept tab on a phone, without a scroll of the page", async () => {
    await tab.page.setViewport({ width: 360, height: 640 });
    await goTo("/start");
    await tab.value(`document.querySelector('label[data-title="Kubernetes"]').click()`);
    await goTo("/start");
    const [left, right, scrolled] = (await tab.value(`(() => {
      const { left, right } = document.querySelector('label[data-title="Kubernetes"]').getBoundingClientRect();
      return [left, right, window.scrollY];
    })()`)) as [number, number, number];
    expect(left).toBeGreaterThanOrEqual(0);
    expect(right).toBeLessThanOrEqual(360);
    expect(scrolled).toBe(0);
  });

  it("are left out, and show every block, without scripts", async () => {
    await tab.page.setJavaScriptEnabled(false);
    await tab.page.goto(`${opened.url}/start`);
    const hidden = await tab.value(
      `[...document.querySelectorAll(".vp-code-group pre")].filter((block) => block.getClientRects().length === 0).length`,
    );
    expect(hidden).toBe(0);
  });
});

// Time passes in the page only when a test lets it pass, so a busy machine changes nothing.
describe("the playground in a browser", () => {
  const LEADER = '[data-lane][data-leads="true"]';
  const STANDBY = '[data-lane][data-leads="false"]';
  let opened: Awaited<ReturnType<typeof open>>;
  let tab: Tab;

  beforeAll(async () => {
    opened = await open();
    tab = await opened.browser.page();
    await tab.page.goto(`${opened.url}/playground`);
    await tab.page.waitForSelector(".playground");
    await click('[data-speed="0"]');
  }, BUILD_LIMIT_MS);
  afterAll(async () => await opened[Symbol.asyncDispose]());

  /** Clicks within one task of the page, so that nothing changes between finding the button and the click. */
  async function click(selector: string): Promise<void> {
    await tab.value(`(async () => {
      const button = document.querySelector(${JSON.stringify(selector)});
      if (!button) throw new Error("The page has no " + ${JSON.stringify(selector)});
      button.click();
      await new Promise((resolve) => setTimeout(resolve));
    })()`);
  }

  async function pass(seconds: number): Promise<void> {
    await tab.value(`(async () => {
      const nowMs = () => Number(document.querySelector(".playground").dataset.nowMs);
      const goal = nowMs() + ${seconds} * 1_000;
      for (let each = 0; each < ${seconds}; each += 1) document.querySelector("[data-act=step]").click();
      for (let turns = 0; nowMs() < goal; turns += 1) {
        if (turns === 5_000) throw new Error("Time stands still at " + nowMs());
        await new Promise((resolve) => setTimeout(resolve));
      }
    })()`);
  }

  async function startAgain(): Promise<void> {
    await click("[data-act=restart]");
    await pass(4);
  }

  const leaders = (): Promise<unknown> => tab.value(`document.querySelectorAll('${LEADER}').length`);

  it.each([
    { act: `${LEADER} [data-act=kill]`, says: "is killed", next: "[data-act=start]", nextSays: "starts" },
    { act: `${LEADER} [data-act=freeze]`, says: "is frozen", next: "[data-act=thaw]", nextSays: "runs again" },
    { act: `${LEADER} [data-act=block]`, says: "blocks its event loop for 7.5 s" },
    { act: `${LEADER} [data-act=cut]`, says: "is cut off", next: "[data-act=join]", nextSays: "reaches the store again" },
    { act: `${LEADER} [data-act=lose]`, says: "will lose its next reply" },
    { act: `${LEADER} [data-act=clock]`, says: "has its wall clock set an hour ahead" },
    { act: `${LEADER} [data-act=stop]`, says: "is told to stop", next: "[data-act=start]", nextSays: "starts" },
    { act: `${STANDBY} [data-act=transfer]`, says: "asks for a transfer to worker-" },
    { act: "[data-act=break]", says: "breaks the present term" },
    { act: "[data-act=store]", says: "The store is down", next: "[data-act=store]", nextSays: "The store is back" },
  ])("does what a button says, and goes on with one leader: $says", async ({ act, says, next, nextSays }) => {
    await startAgain();
    expect(await leaders()).toBe(1);
    await click(act);
    expect(await tab.text(".log")).toContain(says);
    await pass(12);
    if (next !== undefined) {
      await click(next);
      expect(await tab.text(".log")).toContain(nextSays);
      await pass(8);
    }
    expect(await leaders()).toBe(1);
    expect(await tab.text('[data-counter="two"]')).toBe("0.0 s");
  });

  it("never has two leaders, through 1,000 random clicks", async () => {
    await startAgain();
    const random = new SeededRandom(41);
    for (let clicks = 0; clicks < 1_000; clicks += 1) {
      await tab.value(`(() => {
        const buttons = document.querySelectorAll(".lane button");
        buttons[Math.floor(${random.next()} * buttons.length)].click();
      })()`);
      await pass(Math.floor(random.next() * 3));
    }
    expect(await tab.text('[data-counter="two"]')).toBe("0.0 s");
    expect(await tab.text('[data-counter="refused"]'), "no click made a late write").not.toBe("0");
  });

  it("shows two leaders where a flag is trusted instead of the clock", async () => {
    await startAgain();
    await click(`${LEADER} [data-act=freeze]`);
    await pass(12);
    await click("[data-act=flag]");
    expect(await tab.text('[data-counter="two"]')).not.toBe("0.0 s");
    expect(await leaders()).toBe(2);
    await click("[data-act=flag]");
    expect(await leaders()).toBe(1);
  });

  it("begins anew with other durations, and says why some cannot be", async () => {
    const type = (name: string, value: number): Promise<unknown> =>
      tab.value(`(() => {
        const input = document.querySelector("input[name=${name}]");
        input.value = "${value}";
        input.dispatchEvent(new Event("input"));
      })()`);
    await type("renew", 9_000);
    await click("[data-act=apply]");
    expect(await tab.text("[role=alert]")).toContain("renewIntervalMs");
    await type("renew", 3_000);
    await type("lease", 10_000);
    await click("[data-act=apply]");
    expect(await tab.value(`document.querySelector(".playground").dataset.nowMs`)).toBe("0");
    expect(await tab.value("location.hash")).toMatch(/^#l=10000&r=3000&/);
  });

  it("keeps a click that comes while time passes", async () => {
    await startAgain();
    await tab.value(`["step", "store"].forEach((act) => document.querySelector("[data-act=" + act + "]").click())`);
    await pass(1);
    expect(await tab.text(".log")).toContain("The store is down");
  });

  it("lets time pass by itself unless it is paused", async () => {
    await click('[data-speed="20"]');
    await tab.until(`Number(document.querySelector(".playground").dataset.nowMs) > 5_000`);
    await click('[data-speed="0"]');
  });
});
