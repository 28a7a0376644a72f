// Debian's Chromium, and what must hold for every page it shows.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.KITBAG_TOOLS, 'package.json'));
const { chromium } = require('playwright-core');
const axe = require('axe-core');

const FLAGS = ['--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update'];
// A busy machine is slow; what never happens fails all the same.
const PATIENCE = 120_000;
// The limit on the first view of a page: document, style, script and icon.
const FIRST_VIEW_BYTES = 100 * 1024;

export const NARROW = { width: 390, height: 844 };
export const WIDE = { width: 1440, height: 1000 };

// Runs a test in a browser, which ends with it.
export async function withBrowser(test) {
    const browser = await chromium.launch({ executablePath: chromiumPath(), args: FLAGS });
    try {
        await test(browser);
    } finally {
        await browser.close();
    }
    process.exit(0);
}

function chromiumPath() {
    const candidates = process.env.PATH.split(':').map(folder => join(folder, 'chromium'));
    const path = candidates.find(existsSync);
    assert.ok(path, '`cargo xtask setup` installs Chromium');
    return path;
}

// Opens a window that collects everything a page must not do.
export async function openWindow(browser, options = {}) {
    const context = await browser.newContext({ viewport: WIDE, ...options });
    context.setDefaultTimeout(PATIENCE);
    await context.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', event => {
            console.error(`violates the policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
        });
    });
    const page = await context.newPage();
    const faults = [];
    page.on('console', message => message.type() === 'error' && faults.push(message.text()));
    page.on('pageerror', error => faults.push(String(error)));
    page.on('dialog', dialog => {
        faults.push(`a dialog: ${dialog.message()}`);
        dialog.dismiss();
    });
    page.faults = faults;
    return page;
}

// Opens a page and returns the bytes of its first view.
export async function visit(page, url) {
    const sizes = [];
    const count = response => {
        if (!response.url().endsWith('/ui/events')) {
            sizes.push(response.body().then(body => body.length, () => 0));
        }
    };
    page.on('response', count);
    const answer = await page.goto(url, { waitUntil: 'load' });
    page.off('response', count);
    assert.equal(answer.status(), 200, url);
    const all = await Promise.all(sizes);
    return all.reduce((sum, size) => sum + size, 0);
}

// Checks what a page must be like, however it looks.
export async function checkPage(page, what) {
    assert.deepEqual(page.faults, [], `${what}: the console`);
    const wide = await page.evaluate(() => {
        const limit = document.documentElement.clientWidth;
        const isClipped = element => element.closest('.scroll, .sidebar nav, pre, .unseen, .skip, table, svg');
        const sticksOut = element => element.getBoundingClientRect().right > limit + 1 && !isClipped(element);
        const all = [...document.querySelectorAll('body *')].filter(sticksOut);
        const names = all.map(element => `${element.tagName}.${element.className} ${element.textContent.slice(0, 40)}`);
        return document.documentElement.scrollWidth > limit ? names.concat('the body scrolls sideways') : [];
    });
    assert.deepEqual(wide, [], `${what}: wider than the window`);
    const titles = await page.locator('h1').count();
    assert.equal(titles, 1, `${what}: one h1`);
    const { violations } = await page.evaluate(`${axe.source}; axe.run(document, { resultTypes: ['violations'] })`);
    const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact));
    const found = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(node => node.html + ' ' + node.failureSummary).join(' | ')}`);
    assert.deepEqual(found, [], `${what}: accessibility`);
}

export function checkWeight(bytes, what) {
    assert.ok(bytes <= FIRST_VIEW_BYTES, `${what}: the first view has ${bytes} bytes`);
}

export async function takeScreenshot(page, name) {
    mkdirSync(process.env.SCREENSHOTS, { recursive: true });
    await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
}

// Returns the path of every page that links lead to: those of the navigation, and `each` of a kind of
// others, such as one tool among many.
export async function discover(page, base, each = 2) {
    const found = [];
    const kinds = new Map();
    const waiting = ['/ui'];
    const seen = new Set(waiting);
    while (waiting.length > 0) {
        const path = waiting.shift();
        found.push(path);
        const answer = await page.goto(base + path);
        assert.equal(answer.status(), 200, path);
        const links = await page.locator('a[href^="/ui"]').evaluateAll(all => all.map(link => link.getAttribute('href')));
        for (const link of links.map(link => link.split('#')[0])) {
            const kind = kindOf(link);
            if (!seen.has(link) && (kinds.get(kind) ?? 0) < each) {
                seen.add(link);
                kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
                waiting.push(link);
            }
        }
    }
    return found;
}

// Paths of the same kind differ in a name after the section, or in the values of their query.
function kindOf(link) {
    const url = new URL(link, 'http://x');
    const [, , section, ...rest] = url.pathname.split('/');
    if (rest.at(-1) === 'add') {
        return link;
    }
    const depth = rest.length > 1 ? `${rest.length}/${rest.at(-1)}` : rest.length;
    return `${section} ${depth} ${[...url.searchParams.keys()].sort()}`;
}

export function nameOf(path) {
    return path.replace(/^\/ui\/?/, '').replace(/[^a-zA-Z0-9]+/g, '-').slice(0, 60) || 'overview';
}
