//! The server `shop`: orders, products and customers.

use jiff::civil::Date;
use kitbag_tool_server::ToolAnswer;
use kitbag_wire::RawObject;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::with_arguments;

#[derive(Debug, Deserialize)]
pub(crate) struct Shop {
    orders: Vec<Order>,
    products: Vec<Product>,
    customers: Vec<Customer>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    order: u32,
    customer: String,
    ordered: Date,
    status: OrderStatus,
    items: Vec<Item>,
    total: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refund_reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OrderStatus {
    Processing,
    Shipped,
    Delivered,
    Refunded,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Item {
    sku: String,
    quantity: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Product {
    sku: String,
    name: String,
    price: f64,
    stock: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Customer {
    email: String,
    name: String,
    city: String,
}

#[derive(Deserialize)]
struct OrderFilter {
    status: Option<OrderStatus>,
    customer: Option<String>,
}

#[derive(Deserialize)]
struct OrderNumber {
    order: u32,
}

#[derive(Deserialize)]
struct Refund {
    order: u32,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct ProductFilter {
    text: Option<String>,
    stock_below: Option<u32>,
}

#[derive(Deserialize)]
struct Restock {
    sku: String,
    quantity: u32,
}

#[derive(Deserialize)]
struct CustomerEmail {
    email: String,
}

#[derive(Deserialize)]
struct Period {
    from: Date,
    to: Date,
}

impl Shop {
    /// Answers a call; `None` if there is no such tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &RawObject) -> Option<ToolAnswer> {
        Some(match tool {
            "list_orders" => with_arguments(arguments, |filter| self.list_orders(&filter)),
            "get_order" => with_arguments(arguments, |OrderNumber { order }| {
                self.find_order(order).map(|found| json!(found))
            }),
            "refund_order" => with_arguments(arguments, |refund| self.refund_order(refund)),
            "list_products" => with_arguments(arguments, |filter| self.list_products(&filter)),
            "restock_product" => with_arguments(arguments, |restock| self.restock(&restock)),
            "get_customer" => with_arguments(arguments, |who| self.get_customer(&who)),
            "sales_report" => with_arguments(arguments, |period| self.report_sales(&period)),
            _ => return None,
        })
    }

    fn list_orders(&self, filter: &OrderFilter) -> ToolAnswer {
        let orders = self.orders.iter().filter(|order| {
            filter.status.is_none_or(|status| order.status == status)
                && filter
                    .customer
                    .as_ref()
                    .is_none_or(|email| order.customer == *email)
        });
        Ok(json!({ "orders": orders.collect::<Vec<_>>() }))
    }

    fn find_order(&mut self, order: u32) -> Result<&mut Order, String> {
        let found = self.orders.iter_mut().find(|it| it.order == order);
        found.ok_or_else(|| format!("there is no order {order}; list_orders lists all"))
    }

    fn refund_order(&mut self, refund: Refund) -> ToolAnswer {
        let order = self.find_order(refund.order)?;
        if order.status == OrderStatus::Refunded {
            return Err(format!("order {} is already refunded", order.order));
        }
        order.status = OrderStatus::Refunded;
        order.refund_reason = refund.reason;
        Ok(json!(order))
    }

    fn list_products(&self, filter: &ProductFilter) -> ToolAnswer {
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let products = self.products.iter().filter(|product| {
            text.as_ref()
                .is_none_or(|text| product.name.to_lowercase().contains(text))
                && filter.stock_below.is_none_or(|most| product.stock < most)
        });
        Ok(json!({ "products": products.collect::<Vec<_>>() }))
    }

    fn restock(&mut self, restock: &Restock) -> ToolAnswer {
        let found = self.products.iter_mut().find(|it| it.sku == restock.sku);
        let product = found.ok_or_else(|| format!("there is no product `{}`", restock.sku))?;
        product.stock = product.stock.saturating_add(restock.quantity);
        Ok(json!(product))
    }

    fn get_customer(&self, who: &CustomerEmail) -> ToolAnswer {
        let found = self.customers.iter().find(|it| it.email == who.email);
        let customer = found.ok_or_else(|| format!("there is no customer `{}`", who.email))?;
        Ok(json!(customer))
    }

    fn report_sales(&self, period: &Period) -> ToolAnswer {
        let sold: Vec<&Order> = self
            .orders
            .iter()
            .filter(|order| (period.from..=period.to).contains(&order.ordered))
            .filter(|order| order.status != OrderStatus::Refunded)
            .collect();
        let revenue: f64 = sold.iter().map(|order| order.total).sum();
        Ok(json!({ "orders": sold.len(), "revenue": revenue }))
    }
}
