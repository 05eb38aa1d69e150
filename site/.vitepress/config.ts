import { fileURLToPath } from "node:url";
import { defineConfig, type DefaultTheme } from "vitepress";
import { API_PACKAGES, writeApiPages } from "./api-pages.ts";
import { writeForModels } from "./llms.ts";
import { repositoryLinks } from "./repository-links.ts";

const shims = fileURLToPath(new URL("../playground/node-shims/modules.ts", import.meta.url));
const NODE_MODULES = ["node:os", "node:async_hooks", "node:diagnostics_channel"];

const item = (text: string, link: string): DefaultTheme.SidebarItem => ({ text, link });

const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: "Begin",
    items: [
      item("Start", "/start"),
      item("Concepts in ten minutes", "/concepts"),
      item("Which call do I need?", "/which-call"),
      item("Playground: break it yourself", "/playground"),
    ],
  },
  {
    text: "Guides",
    items: [
      item("Graceful stop", "/recipes#stopping"),
      item("SIGTERM in Kubernetes", "/deploying#kubernetes-with-the-library"),
      item("Health and logs", "/recipes#logs-health-and-telemetry"),
      item("Metrics", "/packages/opentelemetry/README"),
      item("Metric lines", "/metric-lines"),
      item("Fenced writes", "/recipes#fenced-writes"),
      item("Fences by SQL database", "/packages/sql/fenced-writes"),
      {
        ...item("Fences by ORM: Drizzle, Prisma …", "/packages/sql/orms"),
        collapsed: true,
        items: [
          item("Drizzle", "/packages/sql/orms/drizzle"),
          item("Knex", "/packages/sql/orms/knex"),
          item("Kysely", "/packages/sql/orms/kysely"),
          item("Prisma", "/packages/sql/orms/prisma"),
          item("Sequelize", "/packages/sql/orms/sequelize"),
          item("TypeORM", "/packages/sql/orms/typeorm"),
        ],
      },
      item("Scheduled jobs, cron", "/packages/schedulers/README"),
      item("What happens to a tick", "/packages/schedulers/ticks"),
      item("Policies of schedules", "/schedules"),
      item("Migrations", "/recipes#migrations-once-per-deployment"),
      item("Serverless functions", "/packages/functions/README"),
      item("Functions by platform", "/packages/functions/platforms"),
      item("Any language: the command", "/packages/cli/README"),
      item("How the command ends a program", "/run"),
      item("Kubernetes, Docker, systemd", "/deploying"),
      item("Asking who leads over HTTP", "/asking"),
      {
        ...item("Infrastructure", "/infrastructure"),
        collapsed: true,
        items: [
          item("AWS: ECS, Lambda", "/infra/aws/README"),
          item("Azure", "/infra/azure/README"),
          item("Google Cloud", "/infra/gcp/README"),
        ],
      },
      item("Fleets and shards", "/packages/fleet/README"),
      item("Do I need a fleet?", "/fleet"),
      item("Testing your code", "/packages/core/README#testing-your-own-code"),
      item("Operating at three in the morning", "/operating"),
    ],
  },
  {
    text: "Stores",
    items: [
      item("Choosing a store", "/stores"),
      {
        ...item("PostgreSQL, MySQL, SQLite", "/packages/sql/README"),
        collapsed: true,
        items: [
          item("Drivers", "/packages/sql/drivers"),
          item("Connections", "/packages/sql/connections"),
          item("PgBouncer", "/packages/sql/connections#pgbouncer"),
          item("Schema", "/packages/sql/schema"),
          item("Occurrences", "/packages/sql/occurrences"),
        ],
      },
      item("DynamoDB", "/packages/dynamodb/README"),
      item("Azure blob", "/packages/azure-blob/README"),
      {
        ...item("Firestore", "/packages/firestore/README"),
        items: [item("Occurrences", "/packages/firestore/occurrences")],
        collapsed: true,
      },
      {
        ...item("Redis, Valkey", "/packages/redis/README"),
        items: [item("Fenced writes", "/packages/redis/fencing")],
        collapsed: true,
      },
      item("S3, R2, Cloud Storage", "/packages/object-storage/README"),
      item("Kubernetes", "/packages/kubernetes/README"),
      item("etcd", "/packages/etcd/README"),
      { ...item("Quorum", "/packages/quorum/README"), items: [item("Choosing members", "/quorum")], collapsed: true },
      { ...item("Voting servers", "/packages/voting/README"), items: [item("Deploying them", "/voting")], collapsed: true },
    ],
  },
  {
    text: "Before and beyond",
    items: [
      item("Going to production", "/production"),
      item("Coming from other locks", "/coming-from"),
      item("Writing a store", "/packages/conformance/README"),
      item("FAQ", "/faq"),
    ],
  },
  {
    text: "Reference",
    items: [
      item("Installing", "/install"),
      item("Options", "/options"),
      item("Events and members", "/events"),
      item("Error codes", "/errors"),
      item("Messages and mistakes", "/mistakes"),
      item("Mistakes: databases, quorums", "/mistakes-databases"),
      item("Timing", "/timing"),
      item("Costs", "/costs"),
      item("Glossary", "/glossary"),
      { text: "API", collapsed: true, items: API_PACKAGES.map((name) => item(name, `/reference/${name}`)) },
    ],
  },
  {
    text: "Why trust it",
    items: [
      item("How it is proven", "/proven"),
      item("Benchmark", "/benchmark"),
      item("Decisions", "/decisions"),
      item("Decisions on stores", "/decisions-stores"),
    ],
  },
];

/** The pages in the order of the sidebar, each under its first name, with the path that VitePress gives it. */
const inOrder = sidebar
  .flatMap(function flat(each): DefaultTheme.SidebarItem[] {
    return [...(each.link === undefined ? [] : [each]), ...(each.items ?? []).flatMap(flat)];
  })
  .map(({ text, link = "" }) => ({ text, link: link.replace(/#.*/, "") }))
  .filter(({ link }, at, all) => all.findIndex((each) => each.link === link) === at);

// They have to be there before VitePress looks for pages.
await writeApiPages();

export default defineConfig({
  title: "Leasehold",
  description: "Leader election with the database or cloud storage that you already use.",
  lang: "en",
  // Where it is published below the root of a host, for instance on GitHub.
  base: process.env["SITE_BASE"] ?? "/",
  cleanUrls: true,
  // READMEs are at their paths in the repository, and `site/pages` is at the root.
  srcDir: "..",
  srcExclude: [
    "*.md",
    ".*/**",
    "test/**",
    "examples/**",
    "site/*.md",
    "site/dist/**",
    "**/dist/**",
    "**/CHANGELOG.md",
    "**/SKILL.md",
    "packages/core/src/**",
  ],
  rewrites: { "site/pages/:page": ":page", "site/reference/:page": "reference/:page" },
  outDir: fileURLToPath(new URL("../dist", import.meta.url)),
  cacheDir: fileURLToPath(new URL("../node_modules/.cache", import.meta.url)),
  // Its highlighter has no haproxy.
  markdown: { config: repositoryLinks, languageAlias: { haproxy: "nginx" } },
  buildEnd: writeForModels,
  // VitePress does not find the neighbours of a page whose first link in the sidebar leads to a heading.
  transformPageData({ relativePath, frontmatter }) {
    const at = inOrder.findIndex(({ link }) => `${link}.md` === `/${relativePath}`);
    frontmatter["prev"] = inOrder[at - 1] ?? false;
    frontmatter["next"] = at === -1 ? false : (inOrder[at + 1] ?? false);
  },
  themeConfig: {
    search: { provider: "local" },
    nav: [
      item("Start", "/start"),
      item("Stores", "/stores"),
      item("Playground", "/playground"),
      item("Errors", "/errors"),
    ] as DefaultTheme.NavItem[],
    sidebar,
    outline: { level: [2, 3] },
    socialLinks: [{ icon: "github", link: "https://github.com/leasehold/leasehold" }],
  },
  vite: {
    resolve: {
      conditions: ["@leasehold/source"],
      alias: NODE_MODULES.map((find) => ({ find, replacement: shims })),
    },
    build: { chunkSizeWarningLimit: 1_000 },
  },
});
