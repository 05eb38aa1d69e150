import { chmodSync, linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { StoreError } from "@leasehold/core";
import { systemClock } from "@leasehold/core/provider";
import { win } from "@leasehold/test-kit/acquisitions";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startHttp } from "../src/serve/http-server.ts";
import { CapturedCommand } from "./captured-command.ts";

let command: CapturedCommand;
let folder: string;

beforeEach(() => {
  command = new CapturedCommand();
  folder = mkdtempSync(join(tmpdir(), "leasehold-serve-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts the sidecar, and returns the address that it prints. */
async function started(...args: string[]): Promise<AsyncDisposable & { readonly url: string; readonly said: string }> {
  const running = command.start("serve", ...args);
  running.catch(() => undefined);
  while (!/ on \S+\n/.test(command.stderr)) {
    await new Promise(setImmediate);
    await command.clock.step(command.clock.monotonicMs());
  }
  await command.clock.advance(100);
  const said = command.stderr;
  const [, url = ""] = / on (\S+)\n/.exec(said) ?? [];
  return {
    url,
    said,
    [Symbol.asyncDispose]: async () => {
      command.stop.abort();
      expect(await command.clock.runUntil(running)).toMatchObject({ exitCode: 0, stdout: "" });
    },
  };
}

async function status(url: string, path: string, { token, method }: { token?: string; method?: string } = {}): Promise<number> {
  const target = url.startsWith("unix:") ? { socketPath: url.slice("unix:".length) } : { ...hostAndPort(url) };
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return await new Promise((resolve, reject) => {
    request({ ...target, path, agent: false, headers, ...(method === undefined ? {} : { method }) }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .once("error", reject)
      .end();
  });
}

function hostAndPort(url: string): { readonly host: string; readonly port: string } {
  const { hostname: host, port } = new URL(url);
  return { host, port };
}

describe("serve", () => {
  test("campaigns, prints its address, and releases its lease at a stop", async () => {
    {
      await using sidecar = await started("--election", "e", "--http", "127.0.0.1:0");
      const own = `leasehold: serving 'e' as '${hostname()}' on ${sidecar.url}\n`;
      expect(sidecar.said).toBe(`${own}leasehold: leading 'e' in term 1.\n`);
      expect(await status(sidecar.url, "/leader")).toBe(200);
      expect(await command.store.read("e")).toMatchObject({ state: "held", holder: hostname(), leaseDurationMs: 15_000 });
    }
    expect(await command.store.read("e")).toMatchObject({ state: "vacant", term: 1 });
  });

  test("prints who leads, that nobody leads, and that the store answers again", async () => {
    const timing = { leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 1_000 };
    const other = await command.store.acquire({ election: "e", candidateId: "other", ...timing });
    await using _sidecar = await started("--election", "e", "--http", "127.0.0.1:0");
    const recover = command.failsWith("STORE_UNAVAILABLE");
    await command.clock.advance(5_000);
    recover();
    await command.clock.advance(5_000);
    if (other.acquired) await command.store.release(other.lease, { timeoutMs: 1_000 });
    await command.clock.advance(20_000);
    const lines = command.stderr.split("\n").filter((line) => / leads? |leading|again\.$/.test(line));
    expect(lines).toEqual([
      "leasehold: 'other' leads 'e' in term 1.",
      "leasehold: the store of 'e' answers again.",
      "leasehold: nobody leads 'e'.",
      "leasehold: leading 'e' in term 2.",
    ]);
  });

  test("takes several elections, an id, a value and a lease", async () => {
    const args = [
      "--election",
      "e",
      "--election",
      "f",
      "--election",
      "e",
      "--id",
      "web-1",
      "--value",
      "http://web-1",
      "--lease",
      "20s",
    ];
    await using sidecar = await started(...args, "--http", "127.0.0.1:0");
    expect(sidecar.said).toContain("serving 'e', 'f' as 'web-1'");
    expect(await command.store.read("f")).toMatchObject({ holder: "web-1", value: "http://web-1", leaseDurationMs: 20_000 });
  });

  test("shows fleets without an election, and refuses a name that no fleet has", async () => {
    {
      await using sidecar = await started("--fleet", "orders", "--http", "127.0.0.1:0");
      expect(sidecar.said).toContain("serving 'orders' as");
      expect(await status(sidecar.url, "/fleets.js")).toBe(200);
      const metrics = await (await fetch(`${sidecar.url}/metrics`)).text();
      expect(metrics).toContain('leasehold_fleet_members{fleet="orders"} 0');
    }
    command = new CapturedCommand();
    expect(await command.run("serve", "--fleet", "a/b")).toMatchObject({
      exitCode: 78,
      stderr: expect.stringContaining("has a slash") as string,
    });
  });

  test("gives the lease up without checkpoints, which need a token from a file or the environment", async () => {
    const file = join(folder, "token");
    writeFileSync(file, "secret\n");
    await using sidecar = await started("--election", "e", "--stall", "10s", "--token-file", file, "--http", "127.0.0.1:0");
    for (let times = 0; times < 3; times += 1) {
      await command.clock.advance(8_000);
      expect(await status(sidecar.url, "/checkpoint", { method: "POST", token: "secret" })).toBe(204);
    }
    expect(await command.store.read("e")).toMatchObject({ state: "held", term: 1 });
    await command.clock.advance(10_500);
    expect(await command.store.read("e")).toMatchObject({ state: "vacant", term: 1 });
    expect(await status(sidecar.url, "/leader")).toBe(503);
    expect(command.stderr).not.toContain("secret");
  });

  test("ends if the store refuses for a lease, so that a supervisor notices", async () => {
    const refused = new StoreError("STORE_DENIED", "The table may not be read.", {
      store: "memory",
      operation: "get",
      mayHaveBeenApplied: false,
    });
    const read = command.store.read.bind(command.store);
    // The other election, which this process leads, ends too.
    command.store.read = async (election, options) => {
      if (election === "e") throw refused;
      return await read(election, options);
    };
    const ran = await command.run("serve", "--election", "e", "--election", "f", "--http", "127.0.0.1:0");
    expect(ran.exitCode).toBe(69);
    expect(ran.stderr.trim().split("\n").at(-1)).toMatch(/^leasehold: The table may not be read\. See /);
  });
});

describe("serve without an election", () => {
  const HTTP = ["--http", "127.0.0.1:0"];

  async function answer(url: string, path: string, method = "GET"): Promise<readonly [number, unknown]> {
    const answered = await fetch(url + path, { method });
    return [answered.status, await answered.json()];
  }

  test("campaigns in nothing, and shows every election of the store", async () => {
    await command.lead("mail", "worker-2", "http://worker-2");
    const lease = await win(command.store, { election: "batch", candidateId: "worker-1" });
    await command.store.release(lease, { timeoutMs: 1_000 });
    await command.store.pause("batch", { reason: "restore" });
    await command.clock.advance(2_000);
    await using sidecar = await started(...HTTP);
    expect(sidecar.said).toBe(`leasehold: serving every election of the store on ${sidecar.url}\n`);

    const store = { lastContactAgeMs: 0 };
    const mail = {
      election: "mail",
      lease: "held",
      leader: { candidateId: "worker-2", term: 1, value: "http://worker-2" },
      known: true,
      leaseAgeMs: 2_100,
      leaseDurationMs: 15_000,
      terms: [{ term: 1, candidateId: "worker-2", sinceMs: 2_100 }],
      store,
    };
    expect(await answer(sidecar.url, "/elections")).toEqual([
      200,
      {
        elections: [
          expect.objectContaining({
            election: "batch",
            lease: "vacant",
            leader: null,
            known: true,
            note: "paused: restore, since 2026-01-01T00:00:00.000Z",
          }),
          mail,
        ],
      },
    ]);
    expect(await answer(sidecar.url, "/elections/mail")).toEqual([200, mail]);
    expect(await answer(sidecar.url, "/elections/none")).toEqual([404, { error: "there is no such election in this store" }]);
    expect(await command.store.read("mail")).toMatchObject({ holder: "worker-2", term: 1 });
  });

  test("answers probes, and has no candidate to ask for, to change or to measure", async () => {
    await command.lead("mail", "worker-2");
    await using sidecar = await started(...HTTP);
    expect(await answer(sidecar.url, "/livez")).toEqual([200, { alive: true }]);
    expect(await answer(sidecar.url, "/readyz")).toEqual([200, { ready: true }]);
    const none = [404, { error: "this process campaigns in no election; name one by --election" }];
    for (const path of ["/", "/leader", "/elections/mail/leader"]) expect(await answer(sidecar.url, path)).toEqual(none);
    for (const path of ["/resign", "/elections/mail/resign", "/elections/mail"]) {
      expect(await answer(sidecar.url, path, "POST")).toEqual(none);
    }
    expect(await (await fetch(`${sidecar.url}/metrics`)).text()).not.toMatch(/^leasehold_(candidates|leader)/m);
  });

  test("sends no list until a request, and at most one in a second", async () => {
    const list = vi.spyOn(command.store, "list");
    await using sidecar = await started(...HTTP);
    await command.clock.advance(60_000);
    expect(list).not.toHaveBeenCalled();
    await Promise.all(["/elections", "/elections", "/elections/mail"].map((path) => answer(sidecar.url, path)));
    await command.clock.advance(900);
    await answer(sidecar.url, "/elections");
    expect(list).toHaveBeenCalledTimes(1);
    await command.clock.advance(100);
    await answer(sidecar.url, "/elections");
    expect(list).toHaveBeenCalledTimes(2);
  });

  test("answers 503 and why while the store fails", async () => {
    await using sidecar = await started(...HTTP);
    const details = { store: "memory", operation: "list", mayHaveBeenApplied: false };
    vi.spyOn(command.store, "list").mockImplementationOnce(() => {
      throw new StoreError("STORE_UNAVAILABLE", "No answer.", details);
    });
    expect(await answer(sidecar.url, "/elections")).toEqual([503, { error: "No answer." }]);
    expect(await answer(sidecar.url, "/elections/mail")).toEqual([503, { error: "No answer." }]);
    await command.clock.advance(1_000);
    expect(await answer(sidecar.url, "/elections")).toEqual([200, { elections: [] }]);
  });

  test("refuses a store that cannot list, before it listens", async () => {
    command.usesStoreWithoutClock();
    expect(await command.run("serve", ...HTTP)).toEqual({
      exitCode: 78,
      stdout: "",
      stderr:
        "leasehold: memory cannot list its elections. Name each by --election NAME, or one by the variable LEASEHOLD_ELECTION.\n",
    });
  });
});

describe("a Unix socket", () => {
  test("is created in a folder that only its owner may enter, and is removed at the end", async () => {
    const path = join(folder, "new", "leasehold.sock");
    {
      await using sidecar = await started("--election", "e", "--http", `unix:${path}`);
      expect(sidecar.url).toBe(`unix:${path}`);
      expect(statSync(join(folder, "new")).mode & 0o777).toBe(0o700);
      expect(await status(sidecar.url, "/leader")).toBe(200);
    }
    expect(() => statSync(path)).toThrow("ENOENT");
  });

  test("is replaced after a crash, but not if a process listens on it", async () => {
    const path = join(folder, "leasehold.sock");
    const other = createServer().listen(path);
    await new Promise((resolve) => void other.once("listening", resolve));
    const ran = await command.run("serve", "--election", "e", "--http", `unix:${path}`);
    expect(ran).toMatchObject({ exitCode: 78, stderr: expect.stringContaining(`cannot listen on ${path} (EADDRINUSE)`) });
    // A link to the file keeps the socket when its server closes.
    linkSync(path, `${path}.left`);
    await new Promise((resolve) => void other.close(resolve));
    renameSync(`${path}.left`, path);

    await using sidecar = await started("--election", "e", "--http", `unix:${path}`);
    expect(await status(sidecar.url, "/livez")).toBe(200);
  });

  test("stays if another server has created it in place of the closing one", async () => {
    const path = join(folder, "leasehold.sock");
    const served = { candidates: [], isStopping: () => false, checkpoint: () => {} };
    const rules = { hosts: [], token: undefined };
    const first = await startHttp({ address: { kind: "unix", path }, served, rules, clock: systemClock });
    const closed = first[Symbol.asyncDispose]();
    const other = createServer().listen(path);
    await closed;
    expect(statSync(path).isSocket()).toBe(true);
    await new Promise((resolve) => void other.close(resolve));
  });

  test("is refused in a folder that other users may enter", async () => {
    const open = join(folder, "open");
    mkdirSync(open);
    chmodSync(open, 0o755);
    const ran = await command.run("serve", "--election", "e", "--http", `unix:${open}/s`);
    expect(ran).toMatchObject({ exitCode: 78, stderr: expect.stringContaining(`others may enter ${open} (mode 755)`) });
  });
});

describe("mistakes", () => {
  test.each([
    [64, "--stall is for a candidate, and no election is named", ["--stall", "1m"]],
    [64, "error: unknown option '--elections'", ["--elections", "e"]],
    [64, "Say 15s or 15ms.", ["--election", "e", "--lease", "15"]],
    [78, "--http is '4040', which is no address", ["--election", "e", "--http", "4040"]],
    [78, "--stall needs a token", ["--election", "e", "--stall", "1m"]],
    [78, "cannot be read (ENOENT)", ["--election", "e", "--token-file", "/nowhere/token"]],
    [78, "--lease is 5", ["--election", "e", "--lease", "5ms"]],
    [78, "election has the control character", ["--election", "a\nb"]],
  ])("end with %i and one line: %s", async (exitCode, line, args) => {
    const ran = await command.run("serve", ...args);
    expect(ran.exitCode).toBe(exitCode);
    expect(ran.stderr).toContain(line.replace(/^error: /, ""));
    expect(ran.stderr.trim().split("\n")).toHaveLength(1);
  });

  test("an address that is in use is an error", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => void other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    const ran = await command.run("serve", "--election", "e", "--http", `127.0.0.1:${port}`);
    expect(ran).toMatchObject({
      exitCode: 78,
      stderr: expect.stringContaining(`cannot listen on 127.0.0.1:${port} (EADDRINUSE)`),
    });
    await new Promise((resolve) => void other.close(resolve));
  });

  test("a token with white space inside is refused", async () => {
    command.env["LEASEHOLD_TOKEN"] = "two words";
    expect(await command.run("serve", "--election", "e")).toMatchObject({
      exitCode: 78,
      stderr: expect.not.stringContaining("two words"),
    });
  });
});
