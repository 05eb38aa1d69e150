import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Fleet } from "@leasehold/fleet";
import { SqlLeaseStore } from "@leasehold/sql";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { CHROMIUM, programMissing } from "@leasehold/test-kit/backends/programs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Browser, type Tab } from "@leasehold/test-kit/browser/browser";
import { RealSidecar } from "./real-sidecar.ts";

/** Screenshots, for people to look at. */
const PICTURES = fileURLToPath(new URL("../../../.results/dashboard/", import.meta.url));
/** A name that would do harm if the page inserted it as markup. */
const MARKUP = `<img src=x onerror="document.title='taken'"><b>a</b>`;
const TOKEN = "the-right-token";

describe.skipIf(await isMissing(programMissing(CHROMIUM)))("the dashboard in Chromium", { timeout: 600_000 }, () => {
  let browser: Browser;
  let axe: string;

  beforeAll(async () => {
    await mkdir(PICTURES, { recursive: true });
    axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    browser = await Browser.start();
  });
  afterAll(async () => await browser[Symbol.asyncDispose]());

  async function freshStore(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-dashboard-"));
    onTestFinished(async () => await rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    return `sqlite://${folder}/app.db`;
  }

  async function sidecar(
    store: string,
    id: string,
    elections: readonly string[],
    { http = "127.0.0.1:0", value = id }: { readonly http?: string; readonly value?: string } = {},
  ): Promise<RealSidecar> {
    const args = elections.flatMap((election) => ["--election", election]);
    const env = { LEASEHOLD_STORE: store, LEASEHOLD_TOKEN: TOKEN };
    const started = await RealSidecar.start(["--http", http, "--id", id, "--value", value, ...args], env);
    onTestFinished(async () => await started[Symbol.asyncDispose]());
    return started;
  }

  async function open(url: string): Promise<Tab> {
    const tab = await browser.page();
    onTestFinished(async () => await tab[Symbol.asyncDispose]());
    await tab.page.goto(url);
    return tab;
  }

  /** Returns the faults that axe finds. The page's policy allows only its own scripts; it does not apply to a debugger. */
  async function faults(tab: Tab): Promise<unknown> {
    await tab.value(axe);
    return await tab.value(
      "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]))",
    );
  }

  test("shows a takeover at once, and sends requests only to its own server", async () => {
    const store = await freshStore();
    const a = await sidecar(store, "a", ["e"]);
    await a.leads();
    const b = await sidecar(store, "b", ["e"]);
    const tab = await open(b.url);
    const asked: string[] = [];
    tab.page.on("request", (request) => void asked.push(request.url()));
    await tab.page.reload();
    await tab.untilText(".leader", "a");

    const { length } = asked;
    await a.stop();
    await tab.untilText(".leader", "b");

    expect(asked).toHaveLength(length);
    expect(await tab.text("#news")).toBe("e: b");
    expect(asked.length).toBeGreaterThan(2);
    expect(asked.filter((request) => !request.startsWith(`${b.url}/`) && !request.startsWith("data:"))).toEqual([]);
  });

  test("shows that its server is gone, and goes on once the server is back", async () => {
    const store = await freshStore();
    const a = await sidecar(store, "a", ["e"]);
    await a.leads();
    const tab = await open(a.url);
    await tab.untilText(".leader", "a");
    await a.stop();
    await tab.until("/lost/.test(document.querySelector('#connection').textContent)");
    await sidecar(store, "again", ["e"], { http: new URL(a.url).host });

    await tab.untilText(".leader", "again");
    expect(await tab.text("#connection")).toBe("Live");
  });

  test("shows names as they are, never as markup", async () => {
    const a = await sidecar(await freshStore(), MARKUP, [MARKUP], { value: MARKUP });
    await a.leads();
    const tab = await open(a.url);
    await tab.untilText(".leader", MARKUP);

    expect(await tab.text("h2")).toBe(MARKUP);
    expect(await tab.value("document.querySelectorAll('article :is(img, b, script)').length")).toBe(0);
    expect(await tab.page.title()).toBe("Leasehold");
    await tab.page.screenshot({ path: join(PICTURES, "markup.png") });
  });

  test("shows a fleet: members as columns, shards as cells, and the shards that have moved", async () => {
    const store = await freshStore();
    const times = { leaseDurationMs: 12_000, gatherMs: 0, settleMs: 1_000, retryPeriodMs: 300 };
    const start = (memberId: string): void => {
      const own = new SqlLeaseStore({ sqlite: store.replace("sqlite://", "") });
      const fleet = new Fleet({ ...times, store: own, fleet: "orders", shards: 6, memberId, logger: false });
      const running = fleet.run(({ ended }) => ended);
      onTestFinished(async () => {
        await Promise.all([fleet.stop(), running]);
        await own.close();
      });
    };
    start("host-1");
    const server = await RealSidecar.start(["--http", "127.0.0.1:0", "--fleet", "orders"], { LEASEHOLD_STORE: store });
    onTestFinished(async () => await server[Symbol.asyncDispose]());
    const tab = await open(server.url);
    await tab.until("document.querySelectorAll('.grid li.held').length === 6");
    expect(await tab.text(".grid h3")).toBe("host-1");

    start(MARKUP);
    await tab.until(
      "[...document.querySelectorAll('.grid section')].map((each) => each.querySelectorAll('li').length).join() === '3,3'",
    );
    await tab.until("document.querySelectorAll('.grid li.moved').length > 0");
    expect(await tab.value("document.querySelectorAll('article :is(img, b, script)').length")).toBe(0);
    expect(await faults(tab)).toEqual([]);
    await tab.page.screenshot({ path: `${PICTURES}fleet.png` });
  });

  test("is refused under another host name that resolves to this address", async () => {
    const a = await sidecar(await freshStore(), "a", ["e"]);
    const tab = await open("about:blank");
    const response = await tab.page.goto(`http://rebound.example:${new URL(a.url).port}/`);
    expect(response?.status()).toBe(403);
    expect(await response?.text()).not.toContain("<h1>");
  });

  test("gives another site's page nothing: no answer, no frame, no change", async () => {
    const a = await sidecar(await freshStore(), "a", ["e"]);
    await a.leads();
    const attacker = createServer((_, response) => void response.setHeader("content-type", "text/html").end("<p>evil</p>"));
    await new Promise((resolve) => void attacker.listen(0, "127.0.0.1", () => resolve(undefined)));
    onTestFinished(() => void attacker.close());
    const tab = await open(`http://attacker.example:${(attacker.address() as AddressInfo).port}/`);
    const outcome = async (path: string, init: object): Promise<unknown> =>
      await tab.value(
        `fetch(${JSON.stringify(a.url + path)}, ${JSON.stringify(init)}).then(({ type }) => type, () => "refused")`,
      );

    expect(await outcome("/elections", {})).toBe("refused");
    expect(await outcome("/resign", { method: "POST", headers: { authorization: `Bearer ${TOKEN}` } })).toBe("refused");
    // The browser sends these requests, and hides the answers.
    await outcome("/elections", { mode: "no-cors" });
    await outcome("/resign", { method: "POST", mode: "no-cors" });
    const frame = `const frame = document.createElement("iframe"); frame.src = ${JSON.stringify(a.url)}; document.body.append(frame);`;
    await tab.value(`new Promise((resolve) => { ${frame} frame.addEventListener("load", () => resolve(true)); })`);
    const shown = await Promise.all(tab.page.frames().map(async (each) => await each.evaluate("document.body.textContent")));
    expect(shown).toHaveLength(2);
    expect(shown.join(" ")).not.toContain("Leasehold");

    expect(await (await fetch(`${a.url}/elections/e`)).json()).toMatchObject({ leading: true, leader: { term: 1 } });
  });

  test("has no fault that axe finds, needs no sideways scrolling, and works by keyboard, in each colour scheme and width", async () => {
    const store = await freshStore();
    const long = "a-candidate-with-a-name-that-is-much-longer-than-anything-on-a-telephone-is-wide-0123456789";
    const first = await sidecar(store, "web-1", ["nightly-billing"], { value: "http://10.0.0.7:8080" });
    await first.leads();
    const second = await sidecar(store, long, ["nightly-billing", "search-index"]);
    const tab = await open(second.url);
    await tab.untilText(".leader", "web-1");
    await first.stop();
    await tab.untilText(".leader", long);

    for (const [scheme, ground] of [
      ["light", "rgb(246, 247, 249)"],
      ["dark", "rgb(20, 23, 28)"],
    ] as const) {
      for (const width of [1_100, 320]) {
        const what = `${scheme}, ${width} pixels wide`;
        await tab.page.setViewport({ width, height: 900 });
        await tab.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        await tab.page.goto(second.url);
        await tab.until("document.querySelectorAll('.strip button').length === 3");

        expect(await faults(tab), what).toEqual([]);
        expect(await tab.value("document.documentElement.scrollWidth <= window.innerWidth"), what).toBe(true);
        expect(await tab.value("getComputedStyle(document.body).backgroundColor"), what).toBe(ground);

        // The filter comes before the terms.
        await tab.page.keyboard.press("Tab");
        await tab.page.keyboard.press("Tab");
        expect(await tab.text(".told"), what).toMatch(/^Term 1: web-1, for .+, until .+ ago \(released\)$/);
        await tab.page.keyboard.press("Tab");
        expect(await tab.text(".told"), what).toMatch(new RegExp(`^Term 2: ${long}, for .+ so far$`));
        expect(await faults(tab), what).toEqual([]);
        await tab.page.screenshot({ path: join(PICTURES, `${scheme}-${width}.png`) });
      }
    }
  });
});
