// Every page of a gateway that has no server yet.

import assert from 'node:assert/strict';
import { NARROW, WIDE, checkPage, discover, nameOf, openWindow, takeScreenshot, visit, withBrowser } from './browser.mjs';
import { Gateway, configure } from './gateway.mjs';

configure('');
const gateway = await Gateway.start();
await withBrowser(async browser => {
    const scout = await openWindow(browser);
    const paths = await discover(scout, gateway.base);
    for (const [viewport, colorScheme] of [[NARROW, 'dark'], [WIDE, 'light']]) {
        const page = await openWindow(browser, { viewport, colorScheme });
        for (const path of paths) {
            await visit(page, gateway.base + path);
            await takeScreenshot(page, `empty-${nameOf(path)}-${viewport.width}-${colorScheme}`);
            await checkPage(page, `${path} ${viewport.width}`);
            const words = await page.locator('main').innerText();
            assert.ok(words.length > 40, `${path} says only: ${words}`);
        }
    }
});
