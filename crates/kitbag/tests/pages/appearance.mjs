// Every page of a used gateway, narrow and wide, light and dark.

import { NARROW, WIDE, checkPage, checkWeight, discover, nameOf, openWindow, takeScreenshot, visit, withBrowser } from './browser.mjs';
import { startUsedGateway } from './used.mjs';

const gateway = await startUsedGateway();
await withBrowser(async browser => {
    const scout = await openWindow(browser);
    const paths = await discover(scout, gateway.base);
    console.log(`${paths.length} pages: ${paths.join(' ')}`);
    for (const viewport of [NARROW, WIDE]) {
        for (const colorScheme of ['light', 'dark']) {
            const page = await openWindow(browser, { viewport, colorScheme });
            for (const path of paths) {
                const what = `${path} ${viewport.width} ${colorScheme}`;
                // Without a cache, as the first view of a person is.
                const first = await openWindow(browser, { viewport, colorScheme });
                checkWeight(await visit(first, gateway.base + path), what);
                await first.context().close();
                await visit(page, gateway.base + path);
                await takeScreenshot(page, `${nameOf(path)}-${viewport.width}-${colorScheme}`);
                await checkPage(page, what);
            }
            await page.context().close();
        }
    }
    // The form to sign in, and a page that is not there, have no navigation.
    for (const path of ['/ui/sign-in']) {
        const page = await openWindow(browser, { viewport: NARROW });
        await visit(page, gateway.base + path);
        await takeScreenshot(page, nameOf(path));
        await checkPage(page, path);
    }
});
