import { mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { CHROMIUM, programMissing } from "@leasehold/test-kit/backends/programs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { ElectionView } from "../src/serve/candidate.ts";
import { pageFiles } from "../src/serve/page.ts";
import { Browser, type Tab } from "@leasehold/test-kit/browser/browser";

/** Screenshots, for people to look at. */
const PICTURES = fileURLToPath(new URL("../../../.results/dashboard/", import.meta.url));
const LEASE_MS = 3_600_000;

function view(election: string, changes: Partial<ElectionView> = {}): ElectionView {
  return {
    election,
    candidateId: "web-1",
    state: "standby",
    leading: false,
    leader: { candidateId: "web-2", term: 8, value: undefined },
    known: true,
    validForMs: 0,
    leaseAgeMs: 4_000,
    leaseDurationMs: LEASE_MS,
    changedMs: 60_000,
    terms: [{ term: 8, candidateId: "web-2", sinceMs: 60_000 }],
    alive: true,
    store: { lastContactAgeMs: 1_000 } as ElectionView["store"],
    ...changes,
  };
}

const FAILURE = { code: "STORE_TIMEOUT", message: "No reply within 2.5 s." };
const FAILING = { store: { lastError: FAILURE } as ElectionView["store"] };
const UNLED = { leader: null, terms: [{ term: 8, candidateId: "web-2", sinceMs: 60_000, endedMs: 20_000 }] };
const TAKEN_OVER = [
  { term: 7, candidateId: "web-3", sinceMs: 90_000, endedMs: 75_000 },
  { term: 8, candidateId: "web-2", sinceMs: 60_000 },
];

/** Serves the dashboard's page, and events that the test sends. */
async function page(views: readonly ElectionView[]): Promise<{ url: string; send: (data: object, event?: string) => void }> {
  const files = pageFiles();
  let send = (_data: object, _event?: string): void => {};
  const server = createServer((request, response) => {
    if (request.url === "/events") {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      send = (data, event = "change") => void response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      for (const each of views) send(each);
      return;
    }
    const file = files.get(request.url === "/" ? "/dashboard.html" : (request.url ?? ""));
    response.writeHead(file ? 200 : 404, { "content-type": file?.type ?? "text/plain" }).end(file?.body);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, send: (data, event) => send(data, event) };
}

describe.skipIf(await isMissing(programMissing(CHROMIUM)))("the dashboard with forty elections", { timeout: 600_000 }, () => {
  let browser: Browser;
  let axe: string;
  beforeAll(async () => {
    await mkdir(PICTURES, { recursive: true });
    axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    browser = await Browser.start();
  });
  afterAll(async () => await browser[Symbol.asyncDispose]());

  const names = Array.from({ length: 40 }, (_, at) => `job-${String(at).padStart(2, "0")}`);
  const views = names.map((name, at) =>
    view(name, at === 31 ? FAILING : at === 17 ? UNLED : at === 23 ? { known: false, leader: null } : { terms: TAKEN_OVER }),
  );

  async function opened(url: string): Promise<Tab> {
    const tab = await browser.page();
    onTestFinished(async () => await tab[Symbol.asyncDispose]());
    await tab.page.goto(url);
    await tab.until("document.querySelectorAll('article').length === 40");
    return tab;
  }

  const titles = async (tab: Tab): Promise<unknown> =>
    await tab.value("[...document.querySelectorAll('article:not([hidden]) h2')].map((title) => title.textContent)");

  test("says how many are led, puts those with trouble first, and names the store's failure", async () => {
    const { url, send } = await page(views);
    const tab = await opened(url);
    await tab.untilText("#summary", "40 elections: 38 led, 1 without a leader, 1 not known here");
    expect(await tab.text("#outage")).toBe("The store fails for 1 of them: STORE_TIMEOUT");
    const others = names.filter((name) => !["job-31", "job-17", "job-23"].includes(name));
    expect(await titles(tab)).toEqual(["job-31", "job-17", "job-23", ...others]);

    send(view("job-31"));
    await tab.untilText("#outage", "");
    expect(((await titles(tab)) as string[]).slice(0, 3)).toEqual(["job-17", "job-23", "job-00"]);
  });

  test("shows only the elections whose name or leader has the filter's text", async () => {
    const { url } = await page(views.map((each, at) => (at === 5 ? { ...each, leader: { candidateId: "Odd", term: 9 } } : each)));
    const tab = await opened(url);
    await tab.page.focus("#filter");
    await tab.page.keyboard.type("b-1");
    expect(await titles(tab)).toEqual(["job-17", ...names.slice(10, 17), "job-18", "job-19"]);
    expect(await tab.text("#summary")).toContain("; 10 shown");
    await tab.value("document.querySelector('#filter').value = ''");
    await tab.page.keyboard.type("odd");
    expect(await titles(tab)).toEqual(["job-05"]);
  });

  test("keeps the focus when elections change places", async () => {
    const { url, send } = await page(views);
    const tab = await opened(url);
    await tab.page.focus("article:nth-of-type(9) .strip button");
    const focused = "document.activeElement.closest('article').querySelector('h2').textContent";
    const before = await tab.value(focused);
    send(view("job-39", FAILING));
    await tab.until("document.querySelector('h2').textContent === 'job-31' && /2 of them/.test(outage.textContent)");
    expect(await tab.value(focused)).toBe(before);
  });

  test("the strip shows how long nobody was seen to lead, between two terms and after the last", async () => {
    const { url } = await page(views);
    const tab = await opened(url);
    const parts = async (name: string): Promise<unknown> =>
      await tab.value(
        `[...[...document.querySelectorAll('article')].find((one) => one.querySelector('h2').textContent === '${name}').querySelectorAll('.strip li')].map((item) => item.textContent)`,
      );
    expect(await parts("job-00")).toEqual(["7", "Nobody was seen to lead for 15 s", "8"]);
    expect(await parts("job-17")).toEqual(["8", "Nobody was seen to lead for 20 s"]);
  });

  test("shows a list of the store's elections, also an empty one, and that the store fails", async () => {
    const { url, send } = await page([]);
    const tab = await browser.page();
    onTestFinished(async () => await tab[Symbol.asyncDispose]());
    await tab.page.goto(url);
    await tab.untilText("#connection", "Live");
    send({ elections: [], store: FAILING.store }, "list");
    await tab.untilText("#outage", "The store fails: STORE_TIMEOUT");
    expect(await tab.text("#summary")).toBe("");
    const store = { lastContactAgeMs: 0 };
    send({ elections: [], store }, "list");
    await tab.untilText("#summary", "There is no election in this store.");

    const listed = { leader: null, known: true, terms: [], store };
    const elections = [
      {
        ...listed,
        election: "billing",
        lease: "held",
        leader: { candidateId: "web-2", term: 8 },
        leaseAgeMs: 14_900,
        leaseDurationMs: 15_000,
      },
      { ...listed, election: "dark", lease: "unknown", known: false, note: "last led by web-1" },
      { ...listed, election: "notes", lease: "foreign", known: false, note: "it is no lease" },
      { ...listed, election: "tick", lease: "vacant", note: "done", done: true },
    ];
    send({ elections, store }, "list");
    await tab.untilText("#summary", "4 elections: 1 led, 1 done, 2 not known here");
    expect(await titles(tab)).toEqual(["dark", "notes", "billing", "tick"]);
    const leaders = "[...document.querySelectorAll('.leader')].map((leader) => leader.textContent)";
    expect(await tab.value(leaders)).toEqual(["not known here", "foreign record", "web-2", "done"]);
    expect(await tab.text("dd:not([hidden])")).toBe("unknown, last led by web-1");
    // The age of a listed lease is the one of its read, until the next list.
    await tab.value("new Promise((resolve) => setTimeout(resolve, 600))");
    expect(await tab.value("document.querySelectorAll('.troubled').length")).toBe(2);

    send({ elections: elections.slice(0, 1), store: FAILING.store }, "list");
    await tab.untilText("#summary", "1 election: 1 led");
    expect(await titles(tab)).toEqual(["billing"]);
    expect(await tab.text("#outage")).toBe("The store fails: STORE_TIMEOUT");
  });

  test("has no fault that axe finds, and needs no sideways scrolling, in each colour scheme and width", async () => {
    const { url } = await page(views);
    const tab = await opened(url);
    for (const scheme of ["light", "dark"] as const) {
      for (const width of [1_100, 320]) {
        const what = `${scheme}, ${width} pixels wide`;
        await tab.page.setViewport({ width, height: 900 });
        await tab.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        await tab.value(axe);
        const faults = "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))";
        expect(await tab.value(faults), what).toEqual([]);
        expect(await tab.value("document.documentElement.scrollWidth <= window.innerWidth"), what).toBe(true);
        await tab.page.screenshot({ path: join(PICTURES, `forty-${scheme}-${width}.png`) });
      }
    }
  });
});
