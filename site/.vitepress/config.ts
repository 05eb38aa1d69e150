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
      item("Recipes", "/recipes"),
      item("Scheduled jobs", "/packages/schedulers/README"),
      item("Policies of schedules", "/schedules"),
      item("Fenced writes by ORM", "/packages/sql/orms"),
      item("Testing your code", "/packages/core/README#testing-your-own-code"),
      item("Serverless functions", "/packages/functions/README"),
      item("Any language: the command", "/run"),
      item("Deploying", "/deploying"),
      item("Going to production", "/production"),
      item("Operating", "/operating"),
      item("Fleets and shards", "/fleet"),
      {
        ...item("Infrastructure", "/infrastructure"),
        items: [
          item("AWS: ECS, Lambda", "/infra/aws/README"),
          item("Azure", "/infra/azure/README"),
          item("Google Cloud", "/infra/gcp/README"),
        ],
      },
      item("Metric lines", "/metric-lines"),
    ],
  },
  {
    text: "Stores",
    items: [
      item("Choosing a store", "/stores"),
      item("PostgreSQL, MySQL, SQLite", "/packages/sql/README"),
      item("DynamoDB", "/packages/dynamodb/README"),
      item("Azure blob", "/packages/azure-blob/README"),
      item("Firestore", "/packages/firestore/README"),
      item("Redis, Valkey", "/packages/redis/README"),
      item("S3, R2, Cloud Storage", "/packages/object-storage/README"),
      item("Kubernetes", "/packages/kubernetes/README"),
      item("etcd", "/packages/etcd/README"),
      item("Quorum", "/packages/quorum/README"),
      item("Voting servers", "/packages/voting/README"),
      item("Writing a store", "/packages/conformance/README"),
    ],
  },
  { text: "Coming from", items: [item("Other locks", "/coming-from")] },
  {
    text: "Reference",
    items: [
      item("Installing", "/install"),
      item("Options", "/options"),
      item("Events and members", "/events"),
      item("Error codes", "/errors"),
      item("Messages and mistakes", "/mistakes"),
      item("Timing", "/timing"),
      item("Costs", "/costs"),
      item("Command line", "/packages/cli/README"),
      item("OpenTelemetry", "/packages/opentelemetry/README"),
      item("Glossary", "/glossary"),
    ],
  },
  {
    text: "API",
    collapsed: true,
    items: API_PACKAGES.map((name) => item(name, `/reference/${name}`)),
  },
  {
    text: "Why trust it",
    items: [item("Decisions", "/decisions"), item("Benchmark", "/benchmark"), item("FAQ", "/faq")],
  },
];

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
  ],
  rewrites: { "site/pages/:page": ":page", "site/reference/:page": "reference/:page" },
  outDir: fileURLToPath(new URL("../dist", import.meta.url)),
  cacheDir: fileURLToPath(new URL("../node_modules/.cache", import.meta.url)),
  // Its highlighter has no haproxy.
  markdown: { config: repositoryLinks, languageAlias: { haproxy: "nginx" } },
  buildEnd: writeForModels,
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
